package client

import (
	"slices"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// modernMaxAway is how many requests of a client may be under way.
const modernMaxAway = 4096

// modernItem is one message to the gateway, waiting or under way.
type modernItem struct {
	frame   protocol.Frame
	until   time.Time // it waits for a gateway so long; zero = as long as it takes
	refetch bool      // the headers of its arguments have been looked up
	listen  bool      // subscriptions/listen
	acked   bool      // listen: the client has its acknowledgment
	own     bool      // the bridge's, not the client's
}

// modernState is the bridge for a client of MCP 2026-07-28. It passes messages on and keeps nothing between requests but the streams that
// are open. Only its step methods write it; they do nothing but append effects to out.
type modernState struct {
	phase   bridgePhase
	now     time.Time // of the step
	out     []any     // effects of the step
	retryAt time.Time // down: when waiting messages are sent
	pause   time.Duration
	since   time.Time // ready: when the gateway answered first after it had been away
	lost    bool      // the gateway has been away
	why     string    // why it was
	leaving time.Time // the client has closed its end: the end at the latest; zero = it has not

	gen     uint64 // the link; 0 = none was opened
	open    bool
	version string // that the link names
	last    uint64 // ticket, and number of ids of ours
	queue   []modernItem
	size    int // bytes in queue
	later   []modernItem
	away    map[uint64]*modernItem // under way, by ticket
	byID    map[string]uint64      // the client's requests among them, by raw id
	lookup  headerLookup
}

func newModernState(gens uint64) *modernState {
	return &modernState{phase: bridgeOpening, gen: gens, pause: bridgeMin, away: map[uint64]*modernItem{}, byID: map[string]uint64{}}
}

func (s *modernState) at(now time.Time)  { s.now = now }
func (s *modernState) do(effect any)     { s.out = append(s.out, effect) }
func (s *modernState) tell(frame []byte) { s.do(bridgeTell{frame}) }
func (s *modernState) idle() bool        { return len(s.away)+len(s.queue)+len(s.later) == 0 }

func (s *modernState) full() bool {
	return len(s.queue) >= bridgeMaxQueue || s.size >= bridgeMaxBytes || len(s.away) >= modernMaxAway
}

func (s *modernState) effects() []any {
	out := s.out
	s.out = nil
	return out
}

func (s *modernState) standing() (phase bridgePhase, version, why string) {
	return s.phase, s.version, s.why
}

// client handles one message of the client.
func (s *modernState) client(f protocol.Frame) {
	switch f.Kind {
	case protocol.KindRequest:
		id := string(f.IDBytes())
		if _, twice := s.byID[id]; twice || slices.ContainsFunc(slices.Concat(s.queue, s.later), requests(id)) {
			s.refuse(f, protocol.InvalidRequest, "this id is in use", false)
			return
		}
		s.enqueue(modernItem{frame: f, listen: f.M == protocol.MethodSubscriptionsListen})
	case protocol.KindNotification:
		if f.M == protocol.NotificationCancelled {
			s.cancelled(f)
		} else {
			s.enqueue(modernItem{frame: f})
		}
	default: // no server asks a modern client over a pipe
	}
	s.pump()
}

// requests finds the client's request with that id.
func requests(id string) func(modernItem) bool {
	return func(i modernItem) bool {
		return !i.own && i.frame.Kind == protocol.KindRequest && string(i.frame.IDBytes()) == id
	}
}

func (s *modernState) enqueue(i modernItem) {
	i.until = s.now.Add(bridgeHold)
	s.queue = append(s.queue, i)
	s.size += len(i.frame.Raw)
}

// wait has a message wait ahead of all others until the gateway is back.
func (s *modernState) wait(i *modernItem) {
	if i.until.IsZero() && !i.listen {
		i.until = s.now.Add(bridgeHold)
	}
	s.queue = slices.Insert(s.queue, 0, *i)
	s.size += len(i.frame.Raw)
}

// cancelled gives a request up. Over HTTP that is closing its response: the client hears nothing more of it. MCP 2026-07-28,
// basic/patterns/cancellation.
func (s *modernState) cancelled(f protocol.Frame) {
	var p protocol.Params
	if p.Scan(&f) != nil {
		return
	}
	id := string(p.RequestID.Of(f.Raw))
	s.drop(requests(id))
	s.later = slices.DeleteFunc(s.later, requests(id))
	if ticket, ok := s.byID[id]; ok {
		s.settle(ticket)
		s.do(bridgeCancel{s.gen, ticket})
	}
}

// drop takes out of the queue what gone says.
func (s *modernState) drop(gone func(modernItem) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(i modernItem) bool {
		out := gone(i)
		if out {
			s.size -= len(i.frame.Raw)
		}
		return out
	})
}

// pump ends every step: it sends what waits, unless the gateway is away.
func (s *modernState) pump() {
	for s.phase != bridgeDown && len(s.queue) > 0 && len(s.away) < modernMaxAway {
		i := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.size -= len(i.frame.Raw)
		s.send(i)
	}
	if !s.leaving.IsZero() && !s.working() {
		s.do(bridgeEnd{})
	}
}

// working reports whether the client may still get an answer that ends: streams do not count.
func (s *modernState) working() bool {
	awaited := func(i modernItem) bool { return !i.listen && i.frame.Kind == protocol.KindRequest }
	for _, i := range s.away {
		if awaited(*i) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(s.queue, s.later), awaited)
}

func (s *modernState) send(i modernItem) {
	if !s.open {
		s.gen, s.open, s.version = s.gen+1, true, ""
		s.do(bridgeOpenUp{s.gen})
	}
	var p protocol.Params
	_ = p.Scan(&i.frame) // the gateway says what is wrong with it
	if version, ok := rawjson.Unquote(p.MetaVersion.Of(i.frame.Raw)); ok && version != s.version {
		s.version = version
		s.do(bridgeSpeak{s.gen, version})
	}
	s.last++
	s.away[s.last] = &i
	if i.frame.Kind == protocol.KindRequest && !i.own {
		s.byID[string(i.frame.IDBytes())] = s.last
	}
	o := upstream.Outgoing{
		Ticket: s.last, Frame: i.frame.Raw, Newline: i.frame.Newline, Method: i.frame.MethodText(), Request: i.frame.Kind == protocol.KindRequest,
	}
	o.Name, _ = rawjson.Unquote(protocol.NameHeader(i.frame.M, &p).Of(i.frame.Raw))
	if i.frame.M == protocol.MethodToolsCall {
		o.Headers = s.lookup.known[o.Name].Headers(p.Arguments.Of(i.frame.Raw))
	}
	s.do(bridgeSend{s.gen, o})
}

// settle takes a message off the way; nil when it is not on it.
func (s *modernState) settle(ticket uint64) *modernItem {
	i := s.away[ticket]
	delete(s.away, ticket)
	if i != nil && !i.own && i.frame.Kind == protocol.KindRequest {
		delete(s.byID, string(i.frame.IDBytes()))
	}
	return i
}

// refuse answers a request of the client with an error of our own.
func (s *modernState) refuse(f protocol.Frame, name protocol.FaultName, message string, retryable bool) {
	fault := protocol.Fault{Name: name, Message: message, Retryable: retryable}
	s.tell(fault.AppendTo(nil, f.IDBytes(), protocol.EraModern))
}
