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

// state is all a backend knows. Written by step only. Its parts differ in how long they last: a connection's is thrown away as
// one when the next is opened; the rest is the server's, or the gateway's, whatever becomes of connections.
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

// life is where the backend stands, and what it has learned of its server over all connections.
type life struct {
	connections *uint64 // that there have been; counted on when the actor restarts
	phase       message.Phase
	since       time.Time
	reason      string        // clients may see it
	fault       string        // why the newest attempt has failed, or the connection was lost, until it is ready; not for clients
	wants       bool          // it waits for its turn to connect
	failures    int           // in a row
	lostAt      time.Time     // when a connection was lost that had been ready for long
	noLogin     bool          // the newest refusal said that no login helps
	retryAfter  time.Duration // the server asked for that long before the next attempt (Retry-After); reset with each
	nextAttempt time.Time
	garbage     int // lines that were no message, ever
	stderr      []string

	known            message.KnownEra // what the next connection begins with
	nextEra          protocol.Era     // what the next one alone begins with, as this one is spoilt; unknown = known
	silentInBothEras bool             // the server ended without a word in both eras: one process is enough for the next attempt
	asksByResult     bool             // a legacy server here has asked by a result, and is given back the state it gave with it
}

// conn is all that belongs to one incarnation of the connection: the requests on it, what its server said of itself, and what was
// agreed with that. It is replaced as a whole, so nothing of one incarnation is taken for another's.
type conn struct {
	incarnation
	open       bool // events of it are listened to
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
	rechecking uint32                        // id of the question whether the server is still modern; 0 = it is not being asked
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

// ledger is the requests on a connection, by the ids we gave them.
type ledger struct {
	lastID  uint32
	pending map[uint32]*pending
	byCall  map[message.CallRef]uint32
	mayAsk  map[uint32]struct{} // ids of the calls that may ask now: none waits at a question, or only for a task
	mending []*pending          // calls refused for their headers: sent once more with the annotations now listed
	orphans []uint32            // ids of calls that were given up and may become tasks yet; newest last

	cancelled  map[uint32][]*question // questions of calls that were cancelled a moment ago, by our id of the call
	cancelling map[uint32]uint32      // those of them whose server over HTTP has not taken the cancellation, by its ticket
}

// carried is the calls that are on no connection and do not end with one.
type carried struct {
	unexecuted []message.Send             // their session was lost before the server executed them; sent again when ready
	rounds     map[message.CallRef]*round // they wait for their client's answers, or for their next request to go out
}

// questions are what servers ask of clients, by our numbers.
type questions struct {
	last     uint64
	open     map[uint64]*question // those that wait for an answer
	elicited []elicitation        // url elicitations that may be reported complete later; newest last
}

// opening is how far the end of a handshake over HTTP has come, where each message travels for itself.
type opening struct {
	untaken uint32 // ticket of notifications/initialized while the server has not taken it; else 0
	unsure  uint32 // likewise, for as long as it may turn out that it was never sent
	stream  bool   // the stream for what belongs to no request is being opened, and nothing else is sent yet
}

// took reports whether the server has taken the end of the handshake with that ticket, over which nothing else is sent before.
func (o *opening) took(ticket uint32) bool {
	if ticket == 0 {
		return false
	}
	if o.unsure == ticket {
		o.unsure = 0
	}
	return o.untaken == ticket
}

// incarnation is the number of a connection of this backend, from 1. What was meant for one must not reach another.
type incarnation uint64

// of makes whatever embeds an incarnation say which it belongs to.
func (n incarnation) of() incarnation { return n }

// pending is a request that waits for the server's answer, by the id we gave it.
type pending struct {
	call      message.CallRef  // zero for the gateway's own requests
	request   *message.Request // nil for the gateway's own requests
	written   bool
	resent    bool          // it was sent before, and lost with the server's session
	questions []uint64      // numbers of the questions of the server that wait for this call's client, oldest first
	parked    bool          // the pool was told that it waits
	hasAsked  bool          // its server has asked something
	certain   bool          // the questions came on its own stream
	round     *round        // what its modern server asked so far; nil = nothing
	reached   float64       // the highest progress its client was told, where we have to know; 0 = none
	before    float64       // likewise, on another connection, where it was sent before; 0 = it was not
	mended    bool          // it was sent once more with other headers
	followed  *followed     // legacy: what it has become, whose end it waits for; nil = no task that we asked for
	query     uint64        // the pool's number for it; 0 = nobody is told
	own       answerHandler // the gateway's own request: takes its answer
}

// answerHandler takes the answer to a request of the gateway's own, or a fault of ours as an error frame.
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

// newConn is a connection of which nothing is known yet.
func newConn(n incarnation) conn {
	return conn{incarnation: n, ledger: ledger{
		pending: map[uint32]*pending{}, byCall: map[message.CallRef]uint32{}, mayAsk: map[uint32]struct{}{},
		cancelled: map[uint32][]*question{}, cancelling: map[uint32]uint32{},
	}}
}
