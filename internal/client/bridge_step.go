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
	bridgeHold    = 20 * time.Second       // maximum time that client messages wait for a gateway
	bridgeOpen    = 60 * time.Second       // limit for the handshake: a starting gateway waits for its servers
	bridgeProbe   = 15 * time.Second       // limit for the response to a ping
	bridgeQuiet   = 60 * time.Second       // silence after which the gateway is pinged
	bridgeMin     = 100 * time.Millisecond // first delay between connection attempts; it doubles each time
	bridgeMax     = 2 * time.Second        // longest delay
	bridgeLong    = 5 * time.Second        // after a session of this length, the first attempt is immediate
	bridgeSettle  = 20 * time.Second       // after a restart, unknown items are retried this long, because servers may still be starting
	bridgeAgainIn = 250 * time.Millisecond // interval of these retries
	bridgeLeave   = 5 * time.Second        // maximum time that calls may continue after the client closed its input

	bridgeMaxQueue = 1024     // maximum number of waiting messages of the client
	bridgeMaxBytes = 64 << 20 // maximum size of these messages in bytes
	bridgeMaxAsks  = 4096     // once the gateway has this many unanswered requests, withdrawn ones are forgotten
)

// bridgePhase is the state of the connection to the gateway.
type bridgePhase string

const (
	bridgeNew     bridgePhase = "new"     // the client has not sent initialize
	bridgeOpening bridgePhase = "opening" // initialize is in progress
	bridgeReady   bridgePhase = "ready"   // there is a session
	bridgeDown    bridgePhase = "down"    // there is no session; the next attempt is at retryAt
)

// bridgeKind is the purpose of a message to the gateway.
type bridgeKind uint8

const (
	bridgeRequest bridgeKind = iota // a request of the client
	bridgeNote                      // a notification or response of the client
	bridgeHello                     // initialize, while the client waits for the response
	bridgeRejoin                    // initialize after a lost session
	bridgeAgain                     // restores a subscription or the log level
	bridgePing                      // a ping of the bridge
)

// bridgeItem is a message to the gateway, waiting or sent.
type bridgeItem struct {
	kind  bridgeKind
	frame protocol.Frame
	gen   uint64    // link it was sent on; 0 while it waits
	until time.Time // deadline for sending it; in later: when to send it again
	over  bool      // canceled by the client: no response, no retry
}

// bridgeState is the entire state of the bridge. Only its step methods modify it. Their only side effect is appending to out.
type bridgeState struct {
	phase   bridgePhase
	now     time.Time // time of the step
	out     []any     // effects of the step
	retryAt time.Time // down: when to connect; opening: when to abort the attempt
	pause   time.Duration
	since   time.Time // ready: when the session started
	rejoins int       // number of sessions after the first
	why     string    // why the last session ended
	heard   time.Time // when the gateway last sent something
	probing time.Time // deadline of the ping in progress; zero if there is none
	leaving time.Time // deadline after the client closed its input; zero before that

	hello     protocol.Frame            // the client's initialize
	patience  time.Time                 // deadline for its response
	greeted   bool                      // its result has been received
	version   string                    // negotiated version
	announced protocol.Frame            // the client's notifications/initialized; Raw is nil until the client has sent it
	subs      map[string]protocol.Frame // the client's subscribe requests, by raw uri
	level     protocol.Frame            // its last successful logging/setLevel
	later     []bridgeItem              // requests to retry at until, in order

	queue  []bridgeItem
	size   int                    // bytes in queue
	gate   uint64                 // ticket that the next message waits for; 0 if none
	last   uint64                 // last ticket, and last number of the bridge's own ids
	away   map[uint64]*bridgeItem // sent messages, by ticket
	byID   map[string]uint64      // tickets of the client's sent requests, by raw id
	gen    uint64                 // newest link
	links  map[uint64]int         // number of sent messages per open link
	asks   map[string]*bridgeAsk  // requests of the gateway, by the id that the client knows
	askers uint64                 // number of ids that the bridge has replaced in such requests
}

// Effects of a step.
type (
	bridgeTell   struct{ frame []byte } // send a frame to the client
	bridgeOpenUp struct{ gen uint64 }   // open a link
	bridgeSend   struct {
		gen uint64
		o   upstream.Outgoing
	}
	bridgeSpeak struct { // set the protocol version of a link
		gen     uint64
		version string
	}
	bridgeListen struct{ gen uint64 }         // open the stream for messages outside requests
	bridgeCancel struct{ gen, ticket uint64 } // cancel an exchange
	bridgeDrop   struct{ gen uint64 }         // close a link
	bridgeEnd    struct{ err error }          // end the bridge
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
		s.refuse(f, protocol.InvalidRequest, "the id is already in use", false)
	case f.Method == protocol.MethodInitialize && s.phase != bridgeNew:
		s.refuse(f, protocol.InvalidRequest, "initialize was already sent", false)
	case f.Method == protocol.MethodInitialize:
		s.hello, s.patience = f, s.now.Add(bridgeHold)
		s.connect()
	case s.phase != bridgeNew:
		s.enqueue(bridgeItem{kind: bridgeRequest, frame: f})
	case f.Method == protocol.MethodPing:
		s.tell(protocol.AppendResult(nil, f.IDBytes(), []byte("{}")))
	case f.Method == protocol.MethodServerDiscover || f.Method == protocol.MethodOther:
		s.refuse(f, protocol.MethodNotFound, "Method not found: send initialize first, or the _meta of MCP 2026-07-28", false)
	default:
		s.refuse(f, protocol.InvalidRequest, "send initialize first", false)
	}
}

// asks returns a predicate for the client's request with that id.
func asks(id string) func(bridgeItem) bool {
	return func(i bridgeItem) bool { return i.kind == bridgeRequest && string(i.frame.IDBytes()) == id }
}

func (s *bridgeState) clientNotification(f protocol.Frame) {
	switch {
	case s.phase == bridgeNew:
		return
	case f.Method == protocol.NotificationInitialized:
		s.announced = f
	case f.Method == protocol.NotificationCancelled && s.cancelled(f):
		return
	}
	s.enqueue(bridgeItem{kind: bridgeNote, frame: f})
}

// cancelled handles the cancellation of a request. It removes a waiting request, and cancels a sent one on an older
// link. For a request sent on the current link, or an unknown one, it returns false: the caller must forward the
// notification.
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

// pushFront inserts messages at the front of the queue. Messages that have waited before keep their deadline.
func (s *bridgeState) pushFront(items ...bridgeItem) {
	for i := range items {
		if items[i].gen = 0; items[i].until.IsZero() {
			items[i].until = s.now.Add(bridgeHold)
		}
		s.size += len(items[i].frame.Raw)
	}
	s.queue = slices.Insert(s.queue, 0, items...)
}

// drop removes the messages from the queue for which gone returns true.
func (s *bridgeState) drop(gone func(bridgeItem) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(i bridgeItem) bool {
		out := gone(i)
		if out {
			s.size -= len(i.frame.Raw)
		}
		return out
	})
}

// pump is called at the end of a step. It sends waiting messages one after the other. HTTP does not preserve order,
// so a request must have been written, and other messages accepted, before the next one is sent.
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

// settle removes a sent message and returns it, or nil if there is none with that ticket.
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

// tidy closes links that are no longer needed.
func (s *bridgeState) tidy() {
	for _, gen := range sorted(s.links) {
		if s.links[gen] == 0 && (gen != s.gen || s.phase == bridgeDown || s.phase == bridgeNew) {
			delete(s.links, gen)
			s.withdrawAsks(gen)
			s.do(bridgeDrop{gen})
		}
	}
}

// refuse answers a request of the client with an error of the bridge.
func (s *bridgeState) refuse(f protocol.Frame, name protocol.FaultName, message string, retryable bool) {
	fault := protocol.Fault{Name: name, Message: message, Retryable: retryable}
	s.tell(fault.AppendTo(nil, f.IDBytes(), protocol.EraLegacy))
}

// own returns a request of the bridge, with an id that a client is unlikely to use.
func (s *bridgeState) own(m protocol.Method, params []byte) protocol.Frame {
	s.last++
	raw := append([]byte(`{"jsonrpc":"2.0","id":"goblin-bridge-`), strconv.FormatUint(s.last, 10)...)
	raw = append(raw, `","method":"`+m.String()+`"`...)
	if params != nil {
		raw = append(append(raw, `,"params":`...), params...)
	}
	var f protocol.Frame
	if err := f.Parse(append(raw, '}')); err != nil {
		panic("the bridge built an invalid frame: " + err.Error())
	}
	return f
}

// sorted returns the keys in order, so that steps are deterministic.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
