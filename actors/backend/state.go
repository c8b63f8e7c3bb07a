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

// state is all a backend knows. Written by step only.
type state struct {
	server  config.Server
	replica int
	kind    string
	node    string // of this gateway
	pool    kernel.Reference
	self    kernel.Reference
	rng     *rand.Rand
	legacy  bool // it is spoken to in a legacy era only

	phase       message.Phase
	since       time.Time
	reason      string // clients may see it
	lastLine    string // on stderr, of the process that has ended: not for clients
	incarnation *uint64
	linked      bool // a connection of this incarnation is open
	failures    int  // in a row
	nextAttempt time.Time
	began       time.Time // of this incarnation
	readySince  time.Time
	pid         int
	noise       int                      // lines that were no message, ever
	warned      struct{ noise, id bool } // of this incarnation's first line that was no message, first id nobody gave out
	stderr      []string

	era     message.Era      // of this incarnation; unknown until the server has shown it
	known   message.KnownEra // what the next one begins with
	forced  message.Era      // what the next one alone begins with, as this one is spoilt; unknown = known
	probe   probe
	spoke   bool   // this incarnation's server has written something
	refused bool   // this incarnation's server has refused the only era it is to be spoken to in
	mute    bool   // the server ended without a word in both eras: one process is enough for the next attempt
	meta    []byte // _meta of our own requests to a modern server

	tasksMeta []byte // likewise, of those that need the extension of tasks

	info     *message.ServerInfo
	peer     string // the server's node: it is a gateway like this one; "" = it is none
	circle   bool   // it has listed what came from here
	greeting uint32 // ticket of notifications/initialized while the server over HTTP has not taken it; else 0
	hello    uint32 // likewise, for as long as it may turn out that it was never sent
	opening  bool   // its stream for what belongs to no request is being opened, and nothing else is sent yet
	lastID   uint32
	pending  map[uint32]*pending
	byCall   map[message.CallRef]uint32
	running  map[uint32]struct{} // ids of the calls that may ask now: none waits at a question, or only for a task
	lifts    bool                // a legacy server here has asked by a result, and is given back the state it gave with it
	held     []message.Send      // their session was lost before the server executed them; sent again when ready
	lists    [protocol.ItemKinds]listing

	announce   message.Can // the questions it tells the server it can carry
	catalog    bool        // it fetches lists; connections that carry calls only do not
	level      string      // log level the server is to be told; "" = none
	levelTold  string      // what it was told over this connection; "" = nothing
	rootsAsked bool        // the server has asked for roots: it wants to know of changes
	lastAsk    uint64
	asks       map[uint64]*ask   // the server's questions that wait for a client, by our number
	atLarge    bool              // the pool knows that this server asks without saying for which call
	moved      moved             // the call that asked last
	elicited   []elicitation     // url elicitations that may be reported complete later; newest last
	tasks      []task            // what legacy calls have become; newest last
	left       map[uint32][]*ask // questions of calls that were cancelled a moment ago, by our id of the call
	saying     map[uint32]uint32 // those of them whose server over HTTP has not taken the cancellation, by its ticket
	orphans    []uint32          // ids of calls that were given up and may become tasks yet; newest last

	reach reach

	// Modern servers.
	rounds     map[message.CallRef]*round    // calls that wait for their client's answers, or for their next request to go out
	bindings   map[string]*protocol.Bindings // by tool; those that have any, of a server over HTTP
	mending    []*pending                    // calls refused for their headers: sent once more with the annotations now listed
	rechecking uint32                        // id of the question whether the server is still modern; 0 = it is not being asked
	streams    streams
}

// pending is a request that waits for the server's answer, by the id we gave it.
type pending struct {
	call    message.CallRef  // zero for the gateway's own requests
	request *message.Request // nil for the gateway's own requests
	written bool
	again   bool      // it was sent before, and lost with the server's session
	asks    []uint64  // numbers of the questions of the server that wait for this call's client, oldest first
	parked  bool      // the pool was told that it waits
	certain bool      // the questions came on its own stream
	round   *round    // what its modern server asked so far; nil = nothing
	reached float64   // the highest progress its client was told, where we have to know; 0 = none
	mended  bool      // it was sent once more with other headers
	task    *followed // legacy: what it has become, whose end it waits for; nil = no task that we asked for
	query   uint64    // the pool's number for it; 0 = nobody is told
	own     taker     // the gateway's own request: takes its answer
}

// taker takes the answer to a request of the gateway's own, or a fault of ours as an error frame.
type taker func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect

func newState(o Options, self kernel.Reference, incarnation *uint64) *state {
	return &state{
		server: o.Server, replica: o.Replica, node: o.Node, kind: o.Kind, legacy: o.Legacy, pool: o.Pool, self: self,
		rng:   rand.New(rand.NewPCG(o.Seed, uint64(o.Replica))),
		phase: message.Idle, incarnation: incarnation,
		announce: o.Announce, catalog: o.Catalog, asks: map[uint64]*ask{}, known: o.Known, rounds: map[message.CallRef]*round{},
		meta: (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: modernCapabilities(o.Announce)}).AppendMeta(nil),

		tasksMeta: (&protocol.ModernMeta{ClientInfo: []byte(clientInfo), Capabilities: message.Extras{}.With(modernCapabilities(o.Announce), true)}).AppendMeta(nil),
		pending:   map[uint32]*pending{}, byCall: map[message.CallRef]uint32{}, running: map[uint32]struct{}{}, left: map[uint32][]*ask{}, saying: map[uint32]uint32{},
	}
}
