package clientcalls

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A request for an unknown item is not always wrong. The item's server may still be starting: then the client should
// retry. Or the server has added the item since its list was fetched, and does not announce changes: then the list is
// fetched once more before the request is refused. The same holds for a server that needs a login, because the login
// may just have arrived.

const (
	maxLookups = 64              // requests of one holder that wait for lists at once; above it, the known lists decide
	lookupWait = 5 * time.Second // maximum wait for lists
	startAgain = time.Second     // delay after which a client may retry while a server starts
)

// lookupOver arrives when lookupWait has passed.
type lookupOver struct{ id uint64 }

// lookup is a request that waits for lists.
type lookup[R any] struct {
	request R
	id      uint64   // of its timer
	seqs    []uint64 // of the refreshes that have not been answered
}

// lookups are the requests of a holder that wait for lists.
type lookups[R any] struct {
	waiting []*lookup[R]
	again   bool // the current request has already waited: the known lists decide
}

// find lets a request wait for newer lists. Its item is in no known list (fault is the error for that), or it is an unlisted resource
// (fault is nil). The result waits reports whether the request waits. If not, the request is refused with the returned
// fault, or continues if that is nil.
func (s *lookups[R]) find(request R, view *catalog.View, x *downstream.Exchange, fault *protocol.Fault, self kernel.Reference, seq *uint64, out []kernel.Effect) (_ []kernel.Effect, refusal *protocol.Fault, waits bool) {
	refusal, servers, kinds := suspects(view, x, cmp.Or(fault, NoResource(x)))
	if fault == nil && refusal.Name != protocol.ServerUnavailable {
		refusal = nil
	}
	if out, waits = s.begin(request, servers, kinds, self, seq, out); waits {
		refusal = nil
	}
	return out, refusal, waits
}

// suspects returns the error with which to refuse a request, and the servers whose lists of the returned kinds should be fetched
// first. fault is the error without regard to the state of the servers.
func suspects(view *catalog.View, x *downstream.Exchange, fault *protocol.Fault) (*protocol.Fault, []*catalog.Server, []protocol.ItemKind) {
	kinds, span := wantedKinds(x)
	name, ok := rawjson.Unquote(span.Of(x.Frame.Raw))
	switch fault.Name {
	case protocol.ToolNotFound, protocol.PromptNotFound, protocol.ResourceNotFound:
	default:
		return fault, nil, nil
	}
	if !ok || len(kinds) == 0 {
		return fault, nil, nil
	}
	var starting, unlocking []string
	var locked, silent []*catalog.Server
	for _, server := range view.Suspects(kinds[0], name) {
		switch {
		case !server.Settled:
			starting = append(starting, server.Name)
		case server.Login != nil && server.Login.Done:
			unlocking, silent = append(unlocking, server.Name), append(silent, server)
		case server.Login != nil:
			locked = append(locked, server)
		case view.IsSilent(server, kinds[0]):
			silent = append(silent, server)
		}
	}
	if len(starting) > 0 {
		return startingFault(starting, fault), nil, nil
	}
	if len(unlocking) > 0 {
		return startingFault(unlocking, fault), silent, kinds
	}
	if len(locked) > 0 { // the pool may know of a login that the view does not show yet
		return loginFault(locked[0], fault), locked, kinds
	}
	return fault, silent, kinds
}

// NoResource returns the error for a request whose URI is unknown.
func NoResource(x *downstream.Exchange) *protocol.Fault {
	uri, _ := rawjson.Unquote(x.Params.URI.Of(x.Frame.Raw))
	return protocol.NoResource(uri)
}

// wantedKinds returns the kinds of lists that may contain the item that a request names, and where it is named.
func wantedKinds(x *downstream.Exchange) ([]protocol.ItemKind, rawjson.Span) {
	resources := []protocol.ItemKind{protocol.Resources, protocol.Templates}
	named := x.Frame.Method.Named(&x.Params)
	switch x.Frame.Method.Names() {
	case protocol.SubjectTool:
		return []protocol.ItemKind{protocol.Tools}, named
	case protocol.SubjectPrompt:
		return []protocol.ItemKind{protocol.Prompts}, named
	case protocol.SubjectResource:
		return resources, named
	case protocol.SubjectReference:
		if x.Params.RefName.Present() {
			return []protocol.ItemKind{protocol.Prompts}, named
		}
		return resources, named
	}
	return nil, rawjson.Span{}
}

// startingFault returns the error for a request for an unknown item while a server that may offer it is still starting.
func startingFault(servers []string, fault *protocol.Fault) *protocol.Fault {
	text := "server " + servers[0] + " is starting, and its lists are"
	if len(servers) > 1 {
		text = "servers " + strings.Join(servers[:min(len(servers), 8)], ", ") + " are starting, and their lists are"
	}
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: servers[0], Tool: fault.Tool, URI: fault.URI, Retryable: true, RetryAfter: startAgain,
		Message: text + " not known yet; try again (" + fault.Error() + ")"}
}

// loginFault returns the error for a request for an unknown item that may belong to a server without a login: such a server lists
// nothing. The login link is created when the answer is written.
func loginFault(server *catalog.Server, fault *protocol.Fault) *protocol.Fault {
	login := server.Login
	f := &protocol.Fault{Name: protocol.NeedsLogin, Server: server.Name, Tool: fault.Tool, URI: fault.URI, Retryable: true,
		Message: "server " + server.Name + " needs a login before it lists its items"}
	if login.Command == "" {
		f.Name, f.Message = protocol.ServerUnavailable, f.Message+"; "+catalog.OnlyGatewayLogsIn
		return f
	}
	f.Late = func(f *protocol.Fault) {
		if f.LoginURL = login.URL(); f.LoginURL != "" {
			f.Message += "; log in at " + f.LoginURL
		} else {
			f.Message += "; log in with: " + login.Command
		}
	}
	return f
}

// begin lets a request wait for lists. It returns false if too many requests wait, or if this one has already waited.
func (s *lookups[R]) begin(request R, servers []*catalog.Server, kinds []protocol.ItemKind, self kernel.Reference, seq *uint64, out []kernel.Effect) ([]kernel.Effect, bool) {
	if s.again || len(servers) == 0 || len(s.waiting) >= maxLookups {
		return out, false
	}
	*seq++
	r := &lookup[R]{request: request, id: *seq}
	for _, server := range servers {
		for _, kind := range kinds {
			*seq++
			r.seqs = append(r.seqs, *seq)
			out = append(out, kernel.Tell(server.Pool, message.Refresh{From: self, Seq: *seq, Kind: kind}))
		}
	}
	s.waiting = append(s.waiting, r)
	return append(out, kernel.WakeAfter(lookupWait, lookupOver{r.id})), true
}

// refreshed handles the answer to a refresh. It returns the request if this was the last answer it waited for.
func (s *lookups[R]) refreshed(seq uint64) (request R, done bool) {
	for i, r := range s.waiting {
		if j := slices.Index(r.seqs, seq); j >= 0 {
			if r.seqs = slices.Delete(r.seqs, j, j+1); len(r.seqs) > 0 {
				return request, false
			}
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return r.request, true
		}
	}
	return request, false
}

// over removes and returns the request whose lookupWait has passed, unless its lookup has ended before.
func (s *lookups[R]) over(m lookupOver) (request R, found bool) {
	return s.remove(func(r *lookup[R]) bool { return r.id == m.id })
}

// cancel removes and returns the first waiting request that satisfies the predicate. Its client has canceled it.
func (s *lookups[R]) cancel(is func(R) bool) (request R, found bool) {
	return s.remove(func(r *lookup[R]) bool { return is(r.request) })
}

func (s *lookups[R]) remove(is func(*lookup[R]) bool) (request R, found bool) {
	i := slices.IndexFunc(s.waiting, is)
	if i < 0 {
		return request, false
	}
	request = s.waiting[i].request
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return request, true
}

// Retrying reports whether the current request has already waited for a lookup. Then the known lists decide.
func (c *Calls[H, K, R]) Retrying() bool { return c.lookups.again }

// Waiting returns the requests that wait for lookups, oldest first.
func (c *Calls[H, K, R]) Waiting() (requests []R) {
	for _, l := range c.lookups.waiting {
		requests = append(requests, l.request)
	}
	return requests
}

// Lookup lets a request wait for newer lists. Its item is in no known list (fault is the error for that), or it is an unlisted
// resource (fault is nil). Lookup reports whether the request waits. If not, the request is refused with the returned fault, or
// continues if that is nil.
func (c *Calls[H, K, R]) Lookup(request R, view *catalog.View, x *downstream.Exchange, fault *protocol.Fault, out []kernel.Effect) (_ []kernel.Effect, refusal *protocol.Fault, waits bool) {
	return c.lookups.find(request, view, x, fault, c.self, &c.last, out)
}

// CancelLookup removes the request that waits for a lookup and for which the function match returns true.
func (c *Calls[H, K, R]) CancelLookup(match func(R) bool) (request R, found bool) {
	return c.lookups.cancel(match)
}

func (c *Calls[H, K, R]) repeat(now time.Time, request R, out []kernel.Effect) []kernel.Effect {
	c.lookups.again = true
	defer func() { c.lookups.again = false }()
	return c.holder.Repeat(now, request, out)
}

// NotifyListServed tells the pools of the servers that do not announce changes that a client has received a list of
// that kind.
func NotifyListServed(view *catalog.View, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	for _, server := range view.Silent(kind) {
		out = append(out, kernel.Tell(server.Pool, message.ListServed{Kind: kind}))
	}
	return out
}
