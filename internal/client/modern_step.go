package client

import (
	"slices"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// modernMaxAway is the maximum number of sent messages without a response.
const modernMaxAway = 4096

// modernItem is a message to the gateway, waiting or sent.
type modernItem struct {
	frame   protocol.Frame
	until   time.Time // deadline for sending it, zero for none; in later: when to send it again
	refetch bool      // its headers have been looked up
	listen  bool      // subscriptions/listen
	acked   bool      // listen: the client has received the acknowledgment
	own     bool      // sent by the bridge itself
}

// modernState is the state of the bridge for a client of MCP 2026-07-28. It forwards messages, and keeps only open
// streams between requests. Only its step methods modify it. Their only side effect is appending to out.
type modernState struct {
	phase   bridgePhase
	now     time.Time // time of the step
	out     []any     // effects of the step
	retryAt time.Time // down: when to send waiting messages
	pause   time.Duration
	since   time.Time // ready: when the gateway first responded, or first responded again after being unreachable
	lost    bool      // the gateway has been unreachable
	why     string    // why the gateway was unreachable
	leaving time.Time // deadline after the client closed its input; zero before that

	gen     uint64 // number of the link; 0 before the first one
	open    bool
	version string // protocol version set on the link
	last    uint64 // last ticket, and last number of the bridge's own ids
	queue   []modernItem
	size    int // bytes in queue
	later   []modernItem
	away    map[uint64]*modernItem // sent messages, by ticket
	byID    map[string]uint64      // tickets of the client's sent requests, by raw id
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
		if _, twice := s.byID[id]; twice || slices.ContainsFunc(slices.Concat(s.queue, s.later, s.lookup.waiting), requests(id)) {
			s.refuse(f, protocol.InvalidRequest, "the id is already in use", false)
			return
		}
		s.enqueue(modernItem{frame: f, listen: f.Method == protocol.MethodSubscriptionsListen})
	case protocol.KindNotification:
		if f.Method == protocol.NotificationCancelled {
			s.cancelled(f)
		} else {
			s.enqueue(modernItem{frame: f})
		}
	default: // modern clients receive no requests on a pipe
	}
	s.pump()
}

// requests returns a predicate for the client's request with that id.
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

// wait inserts a message at the front of the queue. If it has no deadline, it gets one, unless it is
// subscriptions/listen.
func (s *modernState) wait(i *modernItem) {
	if i.until.IsZero() && !i.listen {
		i.until = s.now.Add(bridgeHold)
	}
	s.queue = slices.Insert(s.queue, 0, *i)
	s.size += len(i.frame.Raw)
}

// cancelled cancels a request. Over HTTP this closes its response, and the client receives nothing more for it. MCP
// 2026-07-28, basic/patterns/cancellation.
func (s *modernState) cancelled(f protocol.Frame) {
	var p protocol.Params
	if p.Scan(&f) != nil {
		return
	}
	id := string(p.RequestID.Of(f.Raw))
	s.drop(requests(id))
	s.later = slices.DeleteFunc(s.later, requests(id))
	s.lookup.waiting = slices.DeleteFunc(s.lookup.waiting, requests(id))
	if ticket, ok := s.byID[id]; ok {
		s.settle(ticket)
		s.do(bridgeCancel{s.gen, ticket})
	}
}

// drop removes the messages from the queue for which gone returns true.
func (s *modernState) drop(gone func(modernItem) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(i modernItem) bool {
		out := gone(i)
		if out {
			s.size -= len(i.frame.Raw)
		}
		return out
	})
}

// pump is called at the end of a step. It sends waiting messages unless the gateway is unreachable, and ends the bridge
// if the client has left and all requests except subscriptions/listen are answered.
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

// working reports whether the client still waits for a response to a request other than subscriptions/listen.
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
	_ = p.Scan(&i.frame) // the gateway reports errors in it
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
	o.Name, _ = rawjson.Unquote(protocol.NameHeader(i.frame.Method, &p).Of(i.frame.Raw))
	if i.frame.Method == protocol.MethodToolsCall {
		o.Headers = s.lookup.known[o.Name].Headers(p.Arguments.Of(i.frame.Raw))
	}
	s.do(bridgeSend{s.gen, o})
}

// settle removes a sent message and returns it, or nil if there is none with that ticket.
func (s *modernState) settle(ticket uint64) *modernItem {
	i := s.away[ticket]
	delete(s.away, ticket)
	if i != nil && !i.own && i.frame.Kind == protocol.KindRequest {
		delete(s.byID, string(i.frame.IDBytes()))
	}
	return i
}

// refuse answers a request of the client with an error of the bridge.
func (s *modernState) refuse(f protocol.Frame, name protocol.FaultName, message string, retryable bool) {
	fault := protocol.Fault{Name: name, Message: message, Retryable: retryable}
	s.tell(fault.AppendTo(nil, f.IDBytes(), protocol.EraModern))
}
