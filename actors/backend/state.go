package backend

import (
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

const (
	clientInfo   = `{"name":"goblin-actor","version":"1"}`
	initializeID = 1 // the first id of every incarnation
)

// state is a backend's entire state. Only step modifies it. Its parts have different lifetimes: conn is replaced
// with each connection; the rest belongs to the server or the gateway.
type state struct {
	server     config.Server
	replica    int
	member     string
	transport  string // for reports; the code asks link
	link       traits
	node       string // of this gateway
	pool       kernel.Reference
	self       kernel.Reference
	rng        *rand.Rand
	legacyOnly bool                  // it is spoken to in a legacy era only
	announce   message.CapabilitySet // the questions it tells the server it can carry
	catalog    bool                  // it fetches lists; connections that carry calls only do not
	level      protocol.Level        // log level the server is to be told
	meta       []byte                // _meta of our own requests to a modern server
	tasksMeta  []byte                // likewise, of those that need the extension of tasks

	life      life
	conn      conn
	carried   carried
	questions questions
}

// life is the backend's phase, and what it has learned about its server over all connections.
type life struct {
	connections *uint64 // that there have been; counted on when the actor restarts
	phase       message.Phase
	since       time.Time
	reason      string        // clients may see it
	fault       string        // why the last attempt failed or the connection was lost, until it is ready; never shown to clients
	wants       bool          // it has asked for permission to connect
	failures    int           // in a row
	lostAt      time.Time     // when a connection that had been ready for long was lost
	noLogin     bool          // the newest refusal said that no login helps
	retryAfter  time.Duration // pause that the server asked for (Retry-After); reset by each attempt
	nextAttempt time.Time
	garbage     int // number of lines that were not messages, over all connections
	stderr      []string

	known            message.KnownEra // the era that the next connection begins with
	nextEra          protocol.Era     // the era that only the next connection begins with, because this one is spoilt; unknown = known
	silentInBothEras bool             // the server ended without output in both eras, so the next attempt uses one process only
	asksByResult     bool             // a legacy server has asked by a result; it gets back the state that it sent
}

// conn is everything that belongs to one connection: the requests on it, and what is known of the server there. It
// is replaced as a whole, so nothing of one connection is mistaken for another's.
type conn struct {
	incarnation
	open       bool // its events are handled; false after it was shut
	began      time.Time
	readySince time.Time
	process    serverProcess
	seen       seen

	era     protocol.Era // unknown until the server has shown it
	probe   probe
	info    *message.ServerInfo
	peer    peer
	opening opening
	reach   reach

	ledger
	lists [protocol.ItemKinds]listing

	level protocol.Level // log level the server was sent; LevelNone = none
	asks  asks
	tasks []task // tasks that legacy calls have become; newest last

	bindings   map[string]*protocol.Bindings // by tool; those that have any, of a modern server over HTTP
	rechecking uint32                        // id of the check whether the server is still modern; 0 = none
	streams    streams
}

// serverProcess is the server's process, if it has one.
type serverProcess struct {
	pid      int
	lastLine string // the last line on stderr of a process that has ended; never shown to clients
}

// seen is what a connection's server has shown so far.
type seen struct {
	spoke   bool // it has written something
	refused bool // it has refused the only era that it may be used with
	garbage bool // it has written a line that is not a message: logged once
	strayID bool // it has answered with an id that was never used: logged once
}

// peer describes a server that is a gateway like this one.
type peer struct {
	node    string // its name; "" = the server is not a gateway
	listsUs bool   // it lists items that came from this gateway
}

// asks is what a legacy server asks of clients.
type asks struct {
	roots        bool      // it has asked for roots, so it wants to hear of changes
	unattributed bool      // it has asked during calls without naming the call
	last         lastAsker // the call that asked last
}

// ledger holds the requests on a connection, by the ids that the gateway gave them.
type ledger struct {
	lastID        uint32
	pending       map[uint32]*pending
	byCall        map[message.CallRef]uint32
	mayAsk        map[uint32]struct{} // ids of the calls that may ask now: those that wait neither for an answer nor for a task only
	headerRetries []*pending          // calls refused for their headers; sent again once the tools have been listed again
	orphans       []uint32            // ids of abandoned calls that may still become tasks; newest last

	cancelled  map[uint32][]*question // open questions of recently cancelled calls, by the call's id
	cancelling map[uint32]uint32      // ids of cancelled calls whose cancellation the server has not accepted yet (HTTP), by its ticket
}

// carried holds the calls that are on no connection and survive its end.
type carried struct {
	unexecuted []message.Send             // calls that the server refused with its session, unexecuted; sent again when ready
	rounds     map[message.CallRef]*round // calls that wait for their client's answers or for their next request
}

// questions holds what servers ask of clients, by the gateway's keys.
type questions struct {
	last     uint64
	open     map[uint64]*question // questions that wait for an answer
	elicited []elicitation        // URL elicitations that may be reported complete later; newest last
}

// opening is how far the end of a handshake over HTTP has come, where messages can overtake each other.
type opening struct {
	untaken uint32 // ticket of notifications/initialized until the server has accepted it, then 0
	unsure  uint32 // the same ticket, as long as it may turn out not to have been sent
	stream  bool   // the stream for messages without a request is being opened, and nothing else is sent yet
}

// took reports whether the ticket was the end of the handshake, which the server has now accepted. Nothing else is
// sent before.
func (o *opening) took(ticket uint32) bool {
	if ticket == 0 {
		return false
	}
	if o.unsure == ticket {
		o.unsure = 0
	}
	return o.untaken == ticket
}

// incarnation is the number of a backend's connection, from 1. A message about one connection must not affect
// another.
type incarnation uint64

// of returns the incarnation that a message belongs to.
func (n incarnation) of() incarnation { return n }

// pending is a request that waits for the server's response, by its id.
type pending struct {
	call           message.CallRef  // zero for the gateway's own requests
	request        *message.Request // nil for the gateway's own requests
	written        bool
	resent         bool          // it was sent before and refused because the server had lost the session
	questions      []uint64      // keys of the server's questions that wait for this call's client, oldest first
	parked         bool          // the pool knows that it waits
	hasAsked       bool          // its server has asked a question
	certain        bool          // its questions came on its own stream
	round          *round        // what its modern server has asked so far; nil = nothing
	reached        float64       // the highest progress reported to its client, where that matters; 0 = none
	before         float64       // the same, on the connection where it was sent before; 0 = it was not
	headersRetried bool          // it was sent again with other headers
	followed       *followed     // legacy: the task that the gateway asked for; nil = none
	query          uint64        // key of the pool's query; 0 = none
	own            answerHandler // handles the response to a gateway request; nil for calls
}

// answerHandler handles the response to a gateway request, or a gateway error as an error frame.
type answerHandler func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect

func newState(o Options, self kernel.Reference, connections *uint64) *state {
	ours := modernCapabilities(o.Announce)
	return &state{
		server: o.Server, replica: o.Replica, member: o.Member, transport: o.Transport, link: traitsOf(o.Transport), node: o.Node, pool: o.Pool, self: self,
		rng:        rand.New(rand.NewPCG(o.Seed, uint64(o.Replica))),
		legacyOnly: o.Legacy, announce: o.Announce, catalog: o.Catalog,
		meta:      (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: ours}).AppendMeta(nil),
		tasksMeta: (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: message.Extras{}.With(ours, true)}).AppendMeta(nil),
		life:      life{phase: message.Idle, connections: connections, known: o.Known},
		conn:      newConn(incarnation(*connections)),
		carried:   carried{rounds: map[message.CallRef]*round{}},
		questions: questions{open: map[uint64]*question{}},
	}
}

// newConn returns a connection of which nothing is known yet.
func newConn(n incarnation) conn {
	return conn{incarnation: n, ledger: ledger{
		pending: map[uint32]*pending{}, byCall: map[message.CallRef]uint32{}, mayAsk: map[uint32]struct{}{},
		cancelled: map[uint32][]*question{}, cancelling: map[uint32]uint32{},
	}}
}
