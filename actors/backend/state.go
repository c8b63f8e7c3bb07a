package backend

import (
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
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
	transport  string // for reports; decisions use link
	link       traits
	node       string // name of this gateway
	pool       kernel.Reference
	self       kernel.Reference
	rng        *rand.Rand
	legacyOnly bool                  // only the legacy era is used
	announce   message.CapabilitySet // client capabilities declared to the server
	shown      shown                 // how operators see it
	catalog    bool                  // it fetches the server's lists; connections that only carry calls do not
	level      protocol.Level        // log level that clients want
	meta       []byte                // _meta of the gateway's requests to a modern server
	tasksMeta  []byte                // the same, for requests that need the tasks extension

	life      life
	conn      conn
	carried   carried
	questions questions
}

// life is the backend's phase, and what it has learned about its server over all connections.
type life struct {
	connections      *uint64 // number of connections so far; it survives restarts of the actor
	phase            message.Phase
	since            time.Time
	reason           string        // why it is in this phase; clients may see it
	fault            string        // why the last attempt failed or the connection was lost; "" when ready; never shown to clients
	connectRequested bool          // it has requested permission to connect
	failures         int           // consecutive failed attempts
	lostAt           time.Time     // when a steady connection was last lost
	noLogin          bool          // according to the last refusal, logging in does not help
	retryAfter       time.Duration // pause that the server asked for (Retry-After); reset by each attempt
	nextAttempt      time.Time
	garbage          garbage  // lines that were not messages, over all connections
	stderr           []string // the last lines that its processes wrote to stderr, at most keptStderr

	known            message.KnownEra // the era that the next connection begins with
	nextEra          protocol.Era     // era that only the next connection begins with, because this one was opened in the wrong era; unknown = use known
	silentInBothEras bool             // the server ended without output in both eras, so the next attempt starts only one process
	asksByResult     bool             // a legacy server asks with input_required results, so it gets its requestState back
}

// conn is everything that belongs to one connection: the requests on it, and what is known of the server there. It
// is replaced as a whole, so nothing of one connection is mistaken for another's.
type conn struct {
	incarnation
	open       bool // its events are handled; false once it has been closed
	began      time.Time
	readySince time.Time
	process    serverProcess
	seen       seen

	era     protocol.Era // unknown until it is determined
	probe   probe
	info    *message.ServerInfo
	route   *status.Route // names the connection; nil until a call is written
	peer    peer
	opening opening
	reach   reach

	ledger
	lists [protocol.ItemKinds]listing

	level protocol.Level // log level that was sent to the server; LevelNone = none
	asks  asks
	tasks []task // tasks that were created for legacy clients' calls; newest last

	bindings   map[string]*protocol.Bindings // header annotations by tool, of a modern server over HTTP
	rechecking uint32                        // id of the check whether the server is still modern; 0 = none
	streams    streams
}

// serverProcess is the server's process, if it has one.
type serverProcess struct {
	pid      int
	lastLine string // most telling line of a process that has ended, from its stderr; never shown to clients
}

// seen records what a connection's server has done so far.
type seen struct {
	spoke   bool // the server has sent something
	refused bool // the server has refused the only era that may be used
	garbage bool // the server has sent something that is not a message; only the first is logged as a warning
	strayID bool // the server has answered with an unknown id; only the first is logged as a warning
}

// peer describes a server that is a gateway like this one.
type peer struct {
	node    string // its name; "" = the server is not a gateway
	listsUs bool   // it lists items that came from this gateway
}

// asks records how a legacy server has sent requests to clients so far.
type asks struct {
	roots        bool      // it has requested roots, so it is notified of changes
	unattributed bool      // it has sent requests during calls without naming the call
	last         lastAsker // the call that asked last
}

// ledger holds the requests on a connection, by the ids that the gateway gave them.
type ledger struct {
	lastID        uint32
	pending       map[uint32]*pending
	byCall        map[message.CallRef]uint32 // the id of each call in pending
	mayAsk        map[uint32]struct{}        // ids of calls during which the server may ask: those that wait for neither an answer nor a task
	headerRetries []*pending                 // calls refused for their headers; sent again once the tools have been listed again
	orphans       []uint32                   // ids of canceled calls for which the server may still create tasks; newest last

	cancelled  map[uint32][]*question // open questions of recently canceled calls, by the call's id
	cancelling map[uint32]uint32      // ids of canceled calls, by the ticket of a cancellation that the server has not accepted yet (HTTP)
}

// carried holds the calls that are not pending on the connection and survive its end.
type carried struct {
	unexecuted []message.Send             // calls that the server did not execute because it had lost the session; sent again when ready
	rounds     map[message.CallRef]*round // calls that wait for their client's answers or for their next request
}

// questions holds the server's open questions, by the gateway's keys.
type questions struct {
	last     uint64
	open     map[uint64]*question // questions that wait for an answer
	elicited []elicitation        // URL elicitations that may be reported complete later; newest last
}

// opening is the state between the handshake and the first fetch of the lists.
type opening struct {
	unaccepted  uint32 // over HTTP: ticket of notifications/initialized until the server has accepted it; then 0
	unconfirmed uint32 // the same ticket while it may turn out that it was not sent
	stream      bool   // the stream for messages that belong to no request, or a modern server's stream of changes, is being opened; nothing else is sent yet
}

// accepted records that the server has accepted a notification, and reports whether it is the notifications/initialized
// that the opening waits for. Nothing else is sent before it is accepted.
func (o *opening) accepted(ticket uint32) bool {
	if ticket == 0 {
		return false
	}
	if o.unconfirmed == ticket {
		o.unconfirmed = 0
	}
	return o.unaccepted == ticket
}

// incarnation is the number of a backend's connection. The first one follows Options.Before. A message about one connection
// must not affect another.
type incarnation uint64

// of returns the incarnation that a message belongs to.
func (n incarnation) of() incarnation { return n }

// pending is a request that waits for the server's response, by its id.
type pending struct {
	call           message.CallRef  // zero for the gateway's own requests
	request        *message.Request // nil for the gateway's own requests
	written        bool             // it was reported as written, or must not be sent again
	resent         bool             // it was sent before, and refused because the server had lost the session
	questions      []uint64         // keys of the server's questions that wait for this call's client, oldest first
	parked         bool             // the pool was told that it waits for its client
	hasAsked       bool             // the server has asked a question during the call
	certain        bool             // the server named the call in its questions
	round          *round           // the questions of a modern server so far; nil = none
	reached        float64          // highest progress reported to the client, if tracked; 0 = none
	before         float64          // highest progress reported before the call was sent again on this connection; 0 = it was not sent before
	headersRetried bool             // it was sent again with other headers
	followed       *followed        // legacy servers: the task that the gateway asked for; nil = none
	query          uint64           // key of the pool's query; 0 = none
	taken          time.Time        // when the call left the pool's queue; zero = unknown
	own            answerHandler    // handles the response to a gateway request; nil for calls
}

// answerHandler handles the response to a gateway request, or a gateway error as an error frame.
type answerHandler func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect

func newState(o Options, self kernel.Reference, connections *uint64) *state {
	ours := modernCapabilities(o.Announce)
	return &state{
		server: o.Server, replica: o.Replica, member: o.Member, transport: o.Transport, link: traitsOf(o.Transport), node: o.Node, pool: o.Pool, self: self,
		rng:   rand.New(rand.NewPCG(o.Seed, uint64(o.Replica))),
		shown: shown{name: o.Name, whose: o.Whose}, legacyOnly: o.Legacy, announce: o.Announce, catalog: o.Catalog,
		meta:      (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: ours}).AppendMeta(nil),
		tasksMeta: (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: message.Extras{}.With(ours, true)}).AppendMeta(nil),
		life:      life{phase: message.Idle, connections: connections, known: o.Known},
		conn:      newConn(incarnation(*connections)),
		carried:   carried{rounds: map[message.CallRef]*round{}},
		questions: questions{open: map[uint64]*question{}},
	}
}

// newConn returns the state of a new connection.
func newConn(n incarnation) conn {
	return conn{incarnation: n, ledger: ledger{
		pending: map[uint32]*pending{}, byCall: map[message.CallRef]uint32{}, mayAsk: map[uint32]struct{}{},
		cancelled: map[uint32][]*question{}, cancelling: map[uint32]uint32{},
	}}
}
