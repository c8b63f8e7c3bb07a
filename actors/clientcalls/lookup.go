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

// A request for what is not found need not be wrong. Its server may be starting: then the client is to come back. Or the
// server has got it since its list was fetched, and says nothing of changes: then the list is looked at again, once, before
// the request is refused. So it is with a server that nobody knew, and where somebody has just logged in.

const (
	maxLookups = 64              // requests that wait for lists at once, of a session or desk; more are refused by what is known
	lookupWait = 5 * time.Second // for lists to come
	startAgain = time.Second     // after which a client comes back to a server that is starting
)

// lookupOver says that the lists have had their time.
type lookupOver struct{ id uint64 }

// lookup is a request that waits for lists: of a session an exchange, of a desk a visit.
type lookup[R any] struct {
	request R
	id      uint64   // its timer's
	seqs    []uint64 // of the refreshes that have not come
}

// lookups are the requests of a session or a desk that wait for lists.
type lookups[R any] struct {
	waiting []*lookup[R]
	again   bool // the request at hand has waited: it is answered by what is known now
}

// find keeps a request until lists have come that may hold what it names, which stood in none: fault says so. Without a fault it
// names what is found only if its server has mentioned it. It returns whether the request waits, and else with what it is
// refused; a fault of nil is no reason to refuse it.
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

// suspects says what to do about a request that is refused with the fault: to refuse it with another one, or to ask for lists
// of these kinds of these servers first.
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
	if len(locked) > 0 { // its pool has heard of a login before this view has
		return loginFault(locked[0], fault), locked, kinds
	}
	return fault, silent, kinds
}

// NoResource says that nobody has the URI that a request names.
func NoResource(x *downstream.Exchange) *protocol.Fault {
	uri, _ := rawjson.Unquote(x.Params.URI.Of(x.Frame.Raw))
	return protocol.NoResource(uri)
}

// wantedKinds are the lists in which what a request names would stand, and where it names it.
func wantedKinds(x *downstream.Exchange) ([]protocol.ItemKind, rawjson.Span) {
	resources := []protocol.ItemKind{protocol.Resources, protocol.Templates}
	named := x.Frame.M.Named(&x.Params)
	switch x.Frame.M.Names() {
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

// isStarting is the answer to a request for what a server may have that is starting.
func startingFault(servers []string, fault *protocol.Fault) *protocol.Fault {
	text := "server " + servers[0] + " is starting, and what it has"
	if len(servers) > 1 {
		text = "servers " + strings.Join(servers[:min(len(servers), 8)], ", ") + " are starting, and what they have"
	}
	return &protocol.Fault{Name: protocol.ServerUnavailable, Server: servers[0], Tool: fault.Tool, URI: fault.URI, Retryable: true, RetryAfter: startAgain,
		Message: text + " is not known yet; try again (" + fault.Error() + ")"}
}

// isLocked is the answer to a request for what a server may have that shows nothing before somebody has logged in. Where that is a link says that is
// made when the answer is written.
func loginFault(server *catalog.Server, fault *protocol.Fault) *protocol.Fault {
	login := server.Login
	f := &protocol.Fault{Name: protocol.NeedsLogin, Server: server.Name, Tool: fault.Tool, URI: fault.URI, Retryable: true,
		Message: "server " + server.Name + " needs a login, and what it has is not known before"}
	if login.Command == "" {
		f.Name, f.Message = protocol.ServerUnavailable, f.Message+"; "+catalog.RobotLogsIn
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

// begin keeps a request until its lists have come; false when too many wait, or it has waited already.
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
			out = append(out, kernel.Tell(server.Pool, message.Refresh{Who: self, Seq: *seq, Kind: kind}))
		}
	}
	s.waiting = append(s.waiting, r)
	return append(out, kernel.WakeAfter(lookupWait, lookupOver{r.id})), true
}

// refreshed takes an answer; it returns the request whose last it was.
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

// over returns the request that has waited for long enough, unless it is answered.
func (s *lookups[R]) over(m lookupOver) (request R, found bool) {
	return s.remove(func(r *lookup[R]) bool { return r.id == m.id })
}

// cancel forgets a request that its client no longer wants.
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

// Retrying reports whether the request at hand has waited for a lookup already. It is answered by what is listed now.
func (c *Calls[H, K, R]) Retrying() bool { return c.lookups.again }

// Waiting returns the requests that wait for lookups, oldest first.
func (c *Calls[H, K, R]) Waiting() (requests []R) {
	for _, l := range c.lookups.waiting {
		requests = append(requests, l.request)
	}
	return requests
}

// Lookup has lists fetched that may hold what a request names, which no list holds now; fault says so. Without a fault the item
// was found, but exists only if its server has mentioned it. Lookup returns whether the request waits. If it does not, it is
// refused with the fault that is returned, or goes on if that is nil.
func (c *Calls[H, K, R]) Lookup(request R, view *catalog.View, x *downstream.Exchange, fault *protocol.Fault, out []kernel.Effect) (_ []kernel.Effect, refusal *protocol.Fault, waits bool) {
	return c.lookups.find(request, view, x, fault, c.self, &c.last, out)
}

// CancelLookup removes a request that waits for a lookup and that match selects.
func (c *Calls[H, K, R]) CancelLookup(match func(R) bool) (request R, found bool) {
	return c.lookups.cancel(match)
}

func (c *Calls[H, K, R]) repeat(now time.Time, request R, out []kernel.Effect) []kernel.Effect {
	c.lookups.again = true
	defer func() { c.lookups.again = false }()
	return c.holder.Repeat(now, request, out)
}

// ListServed tells the servers whose lists change without a word that a client has been given one.
func NotifyListServed(view *catalog.View, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	for _, server := range view.Silent(kind) {
		out = append(out, kernel.Tell(server.Pool, message.ListServed{Kind: kind}))
	}
	return out
}
