package client

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

const (
	bridgeHold    = 20 * time.Second       // what the client sends waits so long for a gateway
	bridgeOpen    = 60 * time.Second       // the handshake may take so long: a starting gateway waits for its servers
	bridgeProbe   = 15 * time.Second       // a sign of life, likewise
	bridgeQuiet   = 60 * time.Second       // so long without a word from the gateway it is asked for one
	bridgeMin     = 100 * time.Millisecond // first pause between attempts to connect; each is twice as long as the one before
	bridgeMax     = 2 * time.Second        // longest
	bridgeLong    = 5 * time.Second        // a session that lived so long is followed at once by the next
	bridgeSettle  = 20 * time.Second       // after a restart, what is not found may be there soon: servers start
	bridgeAgainIn = 250 * time.Millisecond // so often it is tried
	bridgeLeave   = 5 * time.Second        // calls may go on so long after the client closed its end

	bridgeMaxQueue = 1024     // messages of the client that wait
	bridgeMaxBytes = 64 << 20 // likewise, in bytes
	bridgeMaxAsks  = 4096     // questions of the server the client has not answered
)

// bridgePhase says how the bridge stands to the gateway.
type bridgePhase string

const (
	bridgeNew     bridgePhase = "new"     // the client has not said initialize
	bridgeOpening bridgePhase = "opening" // initialize is under way
	bridgeReady   bridgePhase = "ready"   // there is a session
	bridgeDown    bridgePhase = "down"    // there is none; it is tried again at retryAt
)

// bridgeKind says whose business a message to the gateway is.
type bridgeKind uint8

const (
	bridgeRequest bridgeKind = iota // the client's; the answer goes to it
	bridgeNote                      // a notification or answer of the client
	bridgeHello                     // initialize, whose answer the client waits for
	bridgeRejoin                    // initialize again, after the session was lost
	bridgeAgain                     // a subscription or level of the client, set again
	bridgePing                      // the bridge asks for a sign of life
)

// bridgeItem is one message to the gateway, waiting or under way.
type bridgeItem struct {
	kind  bridgeKind
	frame protocol.Frame
	gen   uint64    // link it was sent on; 0 = it waits
	until time.Time // it waits so long
	over  bool      // the client has cancelled it: no answer, no second attempt
}

// bridgeState is all the bridge knows. Only its step methods write it; they do nothing but append effects to out.
type bridgeState struct {
	phase   bridgePhase
	now     time.Time // of the step
	out     []any     // effects of the step
	retryAt time.Time // down: when to connect; opening: when to give up
	pause   time.Duration
	since   time.Time // ready: when the session began
	rejoins int       // sessions after the first
	why     string    // what ended the last one
	heard   time.Time // last word of the gateway
	probing time.Time // a ping is under way until then; zero = none
	leaving time.Time // the client has closed its end: the end at the latest; zero = it has not

	hello     protocol.Frame            // the client's initialize
	patience  time.Time                 // its answer is awaited so long
	greeted   bool                      // it has come
	version   string                    // agreed on
	announced protocol.Frame            // the client's notifications/initialized; no Raw = not said yet
	subs      map[string]protocol.Frame // what the client has subscribed to: its requests, by raw uri
	level     protocol.Frame            // its last logging/setLevel that was granted
	later     []bridgeItem              // what was not found yet, to be sent when until is reached; in order

	queue  []bridgeItem
	size   int                    // bytes in queue
	gate   uint64                 // the next message waits for this ticket; 0 = none
	last   uint64                 // ticket, and number of ids of ours
	away   map[uint64]*bridgeItem // under way, by ticket
	byID   map[string]uint64      // the client's requests among them, by raw id
	gen    uint64                 // newest link
	links  map[uint64]int         // open links and how many messages are under way on each
	asks   map[string]*bridgeAsk  // by the id the client knows
	askers uint64
}

// Effects of a step.
type (
	bridgeTell   struct{ frame []byte } // to the client
	bridgeOpenUp struct{ gen uint64 }   // open a link
	bridgeSend   struct {
		gen uint64
		o   upstream.Outgoing
	}
	bridgeSpeak struct { // name the version from now on
		gen     uint64
		version string
	}
	bridgeListen struct{ gen uint64 }         // open the stream for what belongs to no request
	bridgeCancel struct{ gen, ticket uint64 } // give an exchange up
	bridgeDrop   struct{ gen uint64 }         // close a link
	bridgeEnd    struct{ err error }          // it is over
)

func newBridgeState() *bridgeState {
	return &bridgeState{
		phase: bridgeNew, pause: bridgeMin, subs: map[string]protocol.Frame{}, away: map[uint64]*bridgeItem{},
		byID: map[string]uint64{}, links: map[uint64]int{}, asks: map[string]*bridgeAsk{},
	}
}

func (s *bridgeState) at(now time.Time) { s.now = now }

func (s *bridgeState) effects() []any {
	out := s.out
	s.out = nil
	return out
}

func (s *bridgeState) standing() (phase bridgePhase, version, why string) {
	return s.phase, s.version, s.why
}

func (s *bridgeState) do(effect any)       { s.out = append(s.out, effect) }
func (s *bridgeState) tell(frame []byte)   { s.do(bridgeTell{frame}) }
func (s *bridgeState) full() bool          { return len(s.queue) >= bridgeMaxQueue || s.size >= bridgeMaxBytes }
func (s *bridgeState) fromClientEnd() bool { return !s.leaving.IsZero() }

// client handles one message of the client.
func (s *bridgeState) client(f protocol.Frame) {
	switch f.Kind {
	case protocol.KindRequest:
		s.clientRequest(f)
	case protocol.KindNotification:
		s.clientNotification(f)
	default:
		s.clientAnswer(f)
	}
	s.pump()
}

func (s *bridgeState) clientRequest(f protocol.Frame) {
	id := string(f.IDBytes())
	_, twice := s.byID[id]
	twice = twice || slices.ContainsFunc(s.queue, asks(id)) || slices.ContainsFunc(s.later, asks(id))
	switch {
	case twice:
		s.refuse(f, protocol.InvalidRequest, "this id is in use", false)
	case f.M == protocol.MethodInitialize && s.phase != bridgeNew:
		s.refuse(f, protocol.InvalidRequest, "initialize was sent already", false)
	case f.M == protocol.MethodInitialize:
		s.hello, s.patience = f, s.now.Add(bridgeHold)
		s.connect()
	case s.phase != bridgeNew:
		s.enqueue(bridgeItem{kind: bridgeRequest, frame: f})
	case f.M == protocol.MethodPing:
		s.tell(protocol.AppendResult(nil, f.IDBytes(), []byte("{}")))
	case f.M == protocol.MethodServerDiscover || f.M == protocol.MethodOther:
		s.refuse(f, protocol.MethodNotFound, "Method not found: this bridge speaks the versions with initialize", false)
	default:
		s.refuse(f, protocol.InvalidRequest, "send initialize first", false)
	}
}

// asks finds the client's request with that id.
func asks(id string) func(bridgeItem) bool {
	return func(i bridgeItem) bool { return i.kind == bridgeRequest && string(i.frame.IDBytes()) == id }
}

func (s *bridgeState) clientNotification(f protocol.Frame) {
	switch {
	case s.phase == bridgeNew:
		return
	case f.M == protocol.NotificationInitialized:
		s.announced = f
	case f.M == protocol.NotificationCancelled && s.cancelled(f):
		return
	}
	s.enqueue(bridgeItem{kind: bridgeNote, frame: f})
}

// cancelled takes back a request that still waits, or tells the older link it went over; false when neither is so.
func (s *bridgeState) cancelled(f protocol.Frame) bool {
	var p protocol.Params
	if p.Scan(&f) != nil {
		return false
	}
	id := string(p.RequestID.Of(f.Raw))
	waited := len(s.queue) + len(s.later)
	s.drop(asks(id))
	s.later = slices.DeleteFunc(s.later, asks(id))
	if len(s.queue)+len(s.later) < waited {
		return true
	}
	item := s.away[s.byID[id]]
	if item == nil {
		return false
	}
	item.over = true
	if item.gen != s.gen {
		s.send(item.gen, bridgeItem{kind: bridgeNote, frame: f})
	}
	return item.gen != s.gen
}

func (s *bridgeState) enqueue(i bridgeItem) {
	i.until = s.now.Add(bridgeHold)
	s.queue = append(s.queue, i)
	s.size += len(i.frame.Raw)
}

// pushFront puts messages before all others; those that have waited before keep their time.
func (s *bridgeState) pushFront(items ...bridgeItem) {
	for i := range items {
		if items[i].gen = 0; items[i].until.IsZero() {
			items[i].until = s.now.Add(bridgeHold)
		}
		s.size += len(items[i].frame.Raw)
	}
	s.queue = slices.Insert(s.queue, 0, items...)
}

// drop takes out of the queue what gone says.
func (s *bridgeState) drop(gone func(bridgeItem) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(i bridgeItem) bool {
		out := gone(i)
		if out {
			s.size -= len(i.frame.Raw)
		}
		return out
	})
}

// pump ends every step: it sends what waits, one after the other: HTTP keeps no order, so a request must have been written, and anything
// else accepted, before the next may go.
func (s *bridgeState) pump() {
	for s.phase == bridgeReady && s.gate == 0 && len(s.queue) > 0 {
		i := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.size -= len(i.frame.Raw)
		s.gate = s.send(s.gen, i)
	}
	s.tidy()
	idle := len(s.byID)+len(s.queue)+len(s.later) == 0 && (s.greeted || s.phase == bridgeNew)
	if s.fromClientEnd() && idle {
		s.do(bridgeEnd{})
	}
}

// send sends on a link and returns the ticket.
func (s *bridgeState) send(gen uint64, i bridgeItem) uint64 {
	s.last++
	i.gen = gen
	s.away[s.last] = &i
	s.links[gen]++
	if i.kind == bridgeRequest || i.kind == bridgeHello {
		s.byID[string(i.frame.IDBytes())] = s.last
	}
	s.do(bridgeSend{gen, upstream.Outgoing{
		Ticket: s.last, Frame: i.frame.Raw, Newline: i.frame.Newline, Method: i.frame.MethodText(), Request: i.frame.Kind == protocol.KindRequest,
	}})
	return s.last
}

// settle takes a message off the way; nil when it is not on it.
func (s *bridgeState) settle(ticket uint64) *bridgeItem {
	i := s.away[ticket]
	if i == nil {
		return nil
	}
	delete(s.away, ticket)
	if s.gate == ticket {
		s.gate = 0
	}
	if id := string(i.frame.IDBytes()); s.byID[id] == ticket {
		delete(s.byID, id)
	}
	s.links[i.gen]--
	return i
}

// tidy closes the links that are of no use any more.
func (s *bridgeState) tidy() {
	for _, gen := range sorted(s.links) {
		if s.links[gen] == 0 && (gen != s.gen || s.phase == bridgeDown || s.phase == bridgeNew) {
			delete(s.links, gen)
			s.withdrawAsks(gen)
			s.do(bridgeDrop{gen})
		}
	}
}

// refuse answers a request of the client with an error of our own.
func (s *bridgeState) refuse(f protocol.Frame, name protocol.FaultName, message string, retryable bool) {
	fault := protocol.Fault{Name: name, Message: message, Retryable: retryable}
	s.tell(fault.AppendTo(nil, f.IDBytes(), protocol.EraLegacy))
}

// own makes a request of ours, with an id no client uses.
func (s *bridgeState) own(m protocol.Method, params []byte) protocol.Frame {
	s.last++
	raw := append([]byte(`{"jsonrpc":"2.0","id":"goblin-bridge-`), strconv.FormatUint(s.last, 10)...)
	raw = append(raw, `","method":"`+m.String()+`"`...)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	var f protocol.Frame
	if err := f.Parse(append(raw, '}')); err != nil {
		panic("the bridge made a bad frame: " + err.Error())
	}
	return f
}

// sorted returns the keys in order, so that a step has one outcome.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
