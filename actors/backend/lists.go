package backend

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// Limits for each of a server's lists. The rest of the list is left out with a warning.
const (
	maxPages     = 1000
	maxItems     = 100_000
	maxListBytes = 128 << 20 // total size of the pages, which stay in memory with their items; the page that exceeds it is the last
)

// listing is the state of one list on a connection.
type listing struct {
	wanted           bool          // the server has this list, and it is fetched
	running          bool          // a fetch is in progress
	paused           bool          // it is fetched again after a pause
	changedMeanwhile bool          // it changed during the fetch or the pause, so it is fetched again
	refetch          bool          // it is fetched again for another reason
	announced        bool          // the server announced a change
	failure          string        // why the last fetch failed; "" = it succeeded, or there was none
	tries            int           // consecutive failed fetches
	count            int           // items in the last complete list
	fetches          int           // number of fetches so far; identifies the newest for its timers
	ttl              time.Duration // how long the list is fresh according to a modern server: the minimum of its pages; 0 = not at all
	stale            bool          // one of its pages has no valid ttl
	ended            time.Time     // end of the last fetch; zero = there was none
	awaited          bool          // a client waits for the end of the next fetch
	pages            int           // requested in the current fetch
	bytes            int           // size of the pages received in the current fetch
	fetched          bool          // it was fetched at least once on this connection
	cursor           string        // cursor of the page being fetched, raw JSON
	items            [][]byte
}

// request sends a request of the gateway.
func (s *state) request(m protocol.Method, params []byte, own answerHandler, out []kernel.Effect) []kernel.Effect {
	id := s.nextID()
	s.conn.pending[id] = &pending{own: own}
	if s.conn.era == protocol.EraModern || m == protocol.MethodServerDiscover {
		params = s.withMeta(m, params)
	}
	frame := protocol.AppendRequest(nil, uint64(id), m.String(), params)
	return append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(id), Frame: frame, Request: true, Method: m.String()}}))
}

// withMeta returns the params of a gateway request with the _meta that a modern server expects; nil params mean
// none.
func (s *state) withMeta(m protocol.Method, params []byte) []byte {
	meta := s.meta
	if m == protocol.MethodSubscriptionsListen || m == protocol.MethodTasksCancel {
		meta = s.tasksMeta
	}
	b := append([]byte(`{"_meta":`), meta...)
	if m == protocol.MethodServerDiscover {
		b = append(append(append(b[:len(b)-1], ','), protocol.NodeMember(s.node)...), '}')
	}
	if len(params) > len("{}") {
		return append(append(b, ','), params[1:]...)
	}
	return append(b, '}')
}

// advanceOpening continues the opening. Over HTTP messages can overtake each other, so a legacy server must have accepted
// notifications/initialized before any request is sent. The stream for messages that belong to no request must be open
// before a call is sent, since some servers send their questions on it and lose them otherwise. A modern server's stream of
// changes must be open before its lists are fetched.
func (s *state) advanceOpening(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.conn.opening.unaccepted != 0:
		s.conn.opening.unaccepted, s.conn.opening.stream = 0, true
		return append(out, kernel.Act(listen{}))
	case s.conn.opening.stream:
		s.conn.opening.stream = false
		return s.syncAll(now, out)
	}
	return out
}

// streamDecided continues the opening when the stream is open or has been refused.
func (s *state) streamDecided(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.conn.opening.stream && s.life.phase == message.Syncing {
		return s.advanceOpening(now, out)
	}
	return out
}

// openingExpired continues the opening without waiting any longer for the server.
func (s *state) openingExpired(now time.Time, out []kernel.Effect) []kernel.Effect {
	for s.conn.opening.unaccepted != 0 || s.conn.opening.stream {
		out = s.advanceOpening(now, out)
	}
	return out
}

// syncAll fetches every list that the server's capabilities promise. A connection that only carries calls fetches no
// list or, from a modern server over HTTP, only the tools.
func (s *state) syncAll(now time.Time, out []kernel.Effect) []kernel.Effect {
	var has struct{ Tools, Prompts, Resources *json.RawMessage }
	if json.Unmarshal(s.conn.info.Capabilities, &has) != nil {
		out = append(out, kernel.Log(slog.LevelWarn, "server's capabilities are not an object; none of its lists are fetched"))
	}
	s.conn.lists[protocol.Tools].wanted = has.Tools != nil
	s.conn.lists[protocol.Prompts].wanted = has.Prompts != nil
	s.conn.lists[protocol.Resources].wanted = has.Resources != nil
	s.conn.lists[protocol.Templates].wanted = has.Resources != nil
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		switch {
		case !s.catalog && !(kind == protocol.Tools && s.conn.era == protocol.EraModern && s.link.headers): // calls need the tools' annotations for their headers
			s.conn.lists[kind].wanted = false
		case s.conn.lists[kind].wanted:
			out = s.fetch(kind, out)
		default:
			out = s.listed(kind, nil, false, out)
		}
	}
	return s.readyWhenSynced(now, out)
}

// listChanged fetches a list that has changed. If a fetch is in progress, the list is fetched again afterwards, so no
// change is lost. A connection that only carries calls reports the change to the pool instead.
func (s *state) listChanged(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	if s.life.phase == message.Ready && !s.catalog {
		return append(out, kernel.Tell(s.pool, message.ListStale{Kind: kind}))
	}
	if !s.conn.open || s.conn.info == nil || !s.catalog || s.conn.opening.unaccepted != 0 || s.conn.opening.stream {
		return out // the opening is not complete, so the first fetch is still to come
	}
	l.wanted = true
	l.announced = true
	if l.running || l.paused {
		l.changedMeanwhile = true
		return out
	}
	return s.fetch(kind, out)
}

// fetch requests the first page of a list.
func (s *state) fetch(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.running, l.paused, l.changedMeanwhile, l.refetch, l.pages, l.bytes, l.cursor, l.items, l.ttl, l.stale = true, false, false, false, 0, 0, "", nil, 0, false
	l.fetches++
	return s.page(kind, out)
}

// page requests the page at l.cursor.
func (s *state) page(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	params := []byte(nil)
	if l.cursor != "" {
		params = []byte(`{"cursor":` + l.cursor + `}`)
	}
	l.pages++
	out = s.request(kind.ListMethod(), params, func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		return s.pageReceived(now, kind, f, out)
	}, out)
	return s.expireOwn(out)
}

// pageReceived handles a page. It requests the next one, or sends the complete list to the pool.
func (s *state) pageReceived(now time.Time, kind protocol.ItemKind, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if f.Kind == protocol.KindError {
		return s.pageRefused(now, kind, f, out)
	}
	l := &s.conn.lists[kind]
	var r protocol.ResultInfo
	if err := s.scanPage(kind, f, &r); err != nil {
		return s.pageFailed(now, kind, protocol.Reason(err), out)
	}
	span := itemsOf(&r, kind)
	full, err := l.take(f, span)
	switch {
	case err != nil && f.Raw[span.Off] != '[':
		return s.pageFailed(now, kind, protocol.Reason(err), out)
	case err != nil:
		out = append(out, kernel.Log(slog.LevelWarn, "server lists invalid items; they are left out", "kind", kind.String(), "err", protocol.Reason(err)))
	}
	next := string(r.NextCursor.Of(f.Raw))
	switch {
	case next == "" || next == "null":
	case full || l.pages >= maxPages || l.bytes > maxListBytes || next == l.cursor:
		out = append(out, kernel.Log(slog.LevelWarn, "server's list is too long or does not end; the rest is left out", "kind", kind.String(), "pages", l.pages, "bytes", l.bytes, "items", len(l.items)))
	default:
		l.cursor = next
		return s.page(kind, out)
	}
	return s.listDone(now, kind, out)
}

// pageRefused handles an error response. If the server does not know the method although its capabilities declare the
// list, the list is empty.
func (s *state) pageRefused(now time.Time, kind protocol.ItemKind, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if code, _ := protocol.ErrorNumber(f); code != codeNoMethod {
		return s.pageFailed(now, kind, errorText(f), out)
	}
	out = append(out, kernel.Log(slog.LevelDebug, "server does not offer a list that its capabilities declare", "kind", kind.String()))
	return s.listDone(now, kind, out)
}

// scanPage parses the members of a page other than its items, such as a modern page's ttlMs.
func (s *state) scanPage(kind protocol.ItemKind, f *protocol.Frame, r *protocol.ResultInfo) error {
	if err := r.Scan(f); err != nil || s.conn.era != protocol.EraModern {
		return err
	}
	if r.KindOf(kind.ListMethod(), f) != protocol.ResultComplete {
		return errors.New("the server's response to a list request is not a list")
	}
	s.conn.lists[kind].noteTTL(r.TTL.Of(f.Raw))
	return nil
}

// itemsOf returns the span of a page's items.
func itemsOf(r *protocol.ResultInfo, kind protocol.ItemKind) rawjson.Span {
	return [protocol.ItemKinds]rawjson.Span{
		protocol.Tools: r.Tools, protocol.Prompts: r.Prompts, protocol.Resources: r.Resources, protocol.Templates: r.Templates,
	}[kind]
}

// take adds a page's items, up to maxItems in total, and reports whether there were more. It returns an error for
// an invalid item.
func (l *listing) take(f *protocol.Frame, span rawjson.Span) (full bool, err error) {
	l.bytes += len(f.Raw)
	if !span.Present() {
		return false, nil
	}
	err = protocol.Items(f.Raw, span, func(item protocol.Item) bool {
		if full = len(l.items) >= maxItems; !full {
			l.items = append(l.items, item.Raw)
		}
		return !full
	})
	return full, err
}

// listDone sends a complete list to the pool, and fetches it again if it changed meanwhile.
func (s *state) listDone(now time.Time, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	items, announced := l.items, l.announced
	l.running, l.fetched, l.items, l.failure, l.tries = false, true, nil, "", 0
	l.announced = l.changedMeanwhile
	items, out = s.dropLoops(kind, items, out)
	announced = announced && !s.conn.peer.listsUs // otherwise gateways that list each other would announce changes to each other forever
	if kind == protocol.Tools {
		items, out = s.compile(items, out)
	}
	l.count = len(items)
	out = s.fetchOver(now, kind, s.listed(kind, items, announced, out))
	if l.changedMeanwhile || l.refetch {
		return s.readyWhenSynced(now, s.explain(s.pauseList(kind, out))) // a server whose lists change all the time still becomes ready
	}
	out = s.explain(s.scheduleRefetch(kind, out))
	if kind == protocol.Tools && len(s.conn.headerRetries) > 0 {
		out = s.resumeHeaderRetries(now, "", out)
	}
	return s.readyWhenSynced(now, out)
}

// listed sends a list to the pool.
func (s *state) listed(kind protocol.ItemKind, items [][]byte, announced bool, out []kernel.Effect) []kernel.Effect {
	if !s.catalog {
		return out
	}
	return append(out, kernel.Tell(s.pool, message.Listed{
		Backend: s.self, Incarnation: uint64(s.conn.incarnation), Kind: kind, Items: items, Announced: announced, Silent: s.changesSilently(kind),
	}))
}

// pageFailed handles a failed fetch. The previous list stays in use, and the list is fetched again later.
func (s *state) pageFailed(now time.Time, kind protocol.ItemKind, text string, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	level := slog.LevelWarn
	if l.failure == text {
		level = slog.LevelDebug
	}
	out = append(out, kernel.Log(level, "server's list could not be fetched", "kind", kind.String(), "err", text))
	l.running, l.items, l.failure = false, nil, text
	out = s.fetchOver(now, kind, out)
	l.tries++
	if s.life.phase == message.Syncing {
		return s.readyWhenSynced(now, s.listLater(kind, out))
	}
	out = s.explain(s.listLater(kind, out))
	if kind == protocol.Tools && len(s.conn.headerRetries) > 0 {
		return s.resumeHeaderRetries(now, text, out)
	}
	return out
}

// ownExpired fails a gateway request whose response did not arrive in time.
func (s *state) ownExpired(now time.Time, m ownExpired, out []kernel.Effect) []kernel.Effect {
	if s.conn.pending[m.ticket] == nil || s.conn.pending[m.ticket].own == nil {
		return out
	}
	out = append(out, kernel.Act(cancelTicket{uint64(m.ticket)}))
	return s.fail(now, m.ticket, protocol.Timeout, "no answer within "+s.server.Timeout.String(), out)
}

// readyWhenSynced enters Ready once every list has been fetched or could not be fetched, and writes the calls that
// waited for the connection. If lists are missing and no other list has items, it closes the connection instead. Lists
// that change later do not delay it.
func (s *state) readyWhenSynced(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Syncing {
		return out
	}
	for i := range s.conn.lists {
		if s.conn.lists[i].running && !s.conn.lists[i].fetched {
			return out
		}
	}
	missing, some := s.unlisted()
	if missing != "" && !some {
		return s.lose(now, missing, out)
	}
	s.conn.readySince, s.life.failures = now, 0
	out = s.enter(now, message.Ready, missing, out)
	out = s.sendLevel(out)
	held := s.carried.unexecuted
	s.carried.unexecuted = nil
	for _, h := range held {
		out = s.writeCall(&pending{call: h.Call, request: h.Request, resent: true, taken: h.Taken}, out)
	}
	return s.sendRounds(out)
}

// ownFault returns a gateway error in the form of a server's error, for requests of the gateway.
func ownFault(text string) protocol.Frame {
	var f protocol.Frame
	if err := f.Parse(protocol.AppendError(nil, []byte("0"), -32603, text, nil)); err != nil {
		panic("own error frame: " + err.Error())
	}
	return f
}

// errorText returns the message of an error frame, quoted and cut to 300 bytes, with its code.
func errorText(f *protocol.Frame) string {
	var e struct {
		Code    json.Number
		Message string
	}
	if json.Unmarshal(f.Error.Of(f.Raw), &e) != nil {
		return "an invalid error"
	}
	text := status.Cut(strings.ToValidUTF8(e.Message, "?"), 300)
	return strconv.Quote(text) + " (" + e.Code.String() + ")"
}
