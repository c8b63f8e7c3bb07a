package backend

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

const (
	steady       = 5 * time.Second        // ready for so long, the first reconnect is immediate
	closeGrace   = 500 * time.Millisecond // stdin closed, then TERM, then KILL
	keptStderr   = 20                     // lines of stderr kept for people
	clientInfo   = `{"name":"goblin-actor","version":"1"}`
	initializeID = 1           // the first id of every incarnation
	settleTime   = time.Second // for a server over HTTP to take the end of the handshake and open its stream
)

// transitions are the legal ways from phase to phase; a test walks them and writes them into docs/actors.md.
var transitions = map[message.Phase][]message.Phase{
	message.Idle:          {message.Connecting, message.Misconfigured, message.Stopped},
	message.Connecting:    {message.Handshaking, message.Waiting, message.Draining, message.Stopped},
	message.Handshaking:   {message.Syncing, message.Waiting, message.NeedsLogin, message.Connecting, message.Draining, message.Stopped},
	message.Syncing:       {message.Ready, message.Waiting, message.Connecting, message.Draining, message.Stopped},
	message.Ready:         {message.Connecting, message.Waiting, message.Draining, message.Stopped},
	message.Waiting:       {message.Connecting, message.Draining, message.Stopped},
	message.NeedsLogin:    {message.Connecting, message.Draining, message.Stopped},
	message.Draining:      {message.Stopped},
	message.Misconfigured: {message.Stopped},
	message.Stopped:       {},
}

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

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case linkEvent:
		if m.gen != *s.incarnation || !s.linked {
			return out // an earlier connection's
		}
		return s.link(now, m.event, out)
	case message.Send:
		return s.send(m, out)
	case message.Withdraw:
		return s.withdraw(now, m, out)
	case message.Answer:
		return s.answerAsk(now, m, out)
	case message.DropTask:
		return s.dropTaskMade(m, out)
	case message.Query:
		return s.query(m, out)
	case message.Fetch:
		return s.lookAgain(now, m, out)
	case message.Stale:
		return s.changed(m.Kind, out)
	case message.Look:
		return s.ask(now, out)
	case message.NewServer:
		return s.reconfigured(now, m.Server, out)
	case message.SetLevel:
		s.level = m.Level
		return s.tellLevel(out)
	case message.RootsChanged:
		return s.rootsChanged(out)
	case kernel.Started:
		s.since = now
		out = append(out, kernel.Tell(s.pool, message.BackendChanged{Backend: s.self, Replica: s.replica, Phase: s.phase, Anew: true}))
		return append(out, kernel.Tell(s.self, message.Connect{}))
	case message.Connect:
		if s.phase == message.Idle {
			return s.connect(now, out)
		}
	case wake:
		if (s.phase == message.Waiting || s.phase == message.NeedsLogin) && m.gen == *s.incarnation {
			return s.connect(now, out)
		}
	case startExpired:
		return s.startExpired(now, m, out)
	case settled:
		if m.gen == *s.incarnation && s.phase == message.Syncing {
			return s.settled(now, out)
		}
	case probeExpired:
		if m.gen == *s.incarnation && s.phase == message.Handshaking {
			return s.silent(out)
		}
	case ownExpired:
		return s.ownExpired(now, m, out)
	case ttlExpired:
		return s.ttlExpired(m, out)
	case listDue:
		return s.listDue(m, out)
	case lookDue:
		return s.lookDue(m, out)
	case roundDue:
		return s.roundDue(m, out)
	case leftOver:
		return s.leftOver(m, out)
	case burstOver:
		return s.burstOver(m, out)
	case reachDue:
		return s.reachDue(now, m, out)
	case ackExpired, relisten, overlapOver:
		return s.streamTimer(now, m, out)
	case message.Drain:
		return s.drain(now, out)
	case message.Stop:
		return append(s.stop(now, protocol.ShuttingDown, m.Reason, out), kernel.Leave())
	case kernel.Stopping:
		switch m.Why {
		case kernel.WhyShutdown:
			return s.stop(now, protocol.ShuttingDown, "the gateway is shutting down", out)
		case kernel.WhyRestarting, kernel.WhyFailed:
			return s.stop(now, protocol.BackendDisconnected, "an internal error of the gateway", out)
		}
		return s.stop(now, protocol.BackendDisconnected, "it was switched off, removed or begun anew", out)
	case message.Inspect:
		m.Reply(s.report())
	}
	return out
}

// starting reports whether this incarnation has not been ready yet.
func (s *state) starting() bool {
	return s.phase == message.Connecting || s.phase == message.Handshaking || s.phase == message.Syncing
}

// missing says what a start that takes too long waits for.
func (s *state) missing() string {
	switch s.phase {
	case message.Handshaking:
		return "it has not answered initialize"
	case message.Syncing:
		return "its lists are not complete"
	}
	return "it has not been reached"
}

// enter changes the phase and tells the pool.
func (s *state) enter(now time.Time, p message.Phase, reason string, out []kernel.Effect) []kernel.Effect {
	s.phase, s.since, s.reason = p, now, reason
	changed := message.BackendChanged{
		Backend: s.self, Replica: s.replica, Phase: p, Incarnation: *s.incarnation, Reason: reason, LastLine: s.lastLine, NextAttempt: s.nextAttempt, Refused: s.refused,
	}
	switch p {
	case message.Ready:
		changed.Info, changed.Known = s.info, s.known
	case message.Syncing:
		changed.Info = s.info
	}
	return append(out, kernel.Tell(s.pool, changed))
}

// connect begins a new incarnation.
func (s *state) connect(now time.Time, out []kernel.Effect) []kernel.Effect {
	*s.incarnation++
	s.lastLine, s.spoke, s.refused = "", false, false
	s.linked, s.lastID, s.info, s.nextAttempt = true, 0, nil, time.Time{}
	s.lists, s.rootsAsked, s.levelTold, s.greeting, s.hello, s.opening = [protocol.ItemKinds]listing{}, false, "", 0, 0, false
	s.warned.noise, s.warned.id = false, false
	s.era, s.bindings, s.rechecking, s.streams, s.reach = message.EraUnknown, nil, 0, streams{}, reach{}
	s.atLarge, s.moved, s.peer, s.circle, s.tasks, s.orphans = false, moved{}, "", false, nil, nil
	out = s.enter(now, message.Connecting, "", out)
	out = append(out, kernel.Act(open{*s.incarnation}))
	s.began = now
	return s.armStart(now, out)
}

// link handles what the connection told.
func (s *state) link(now time.Time, event upstream.Event, out []kernel.Effect) []kernel.Effect {
	switch e := event.(type) {
	case upstream.Received:
		s.spoke, s.mute = true, false
		return s.received(now, &e, out)
	case upstream.Written:
		return s.wrote(e.Ticket, out)
	case upstream.NotSent:
		return s.notSent(now, e, out)
	case upstream.Ended:
		return s.ended(now, e, out)
	case upstream.Opened:
		s.pid = e.PID
		return s.handshake(now, out)
	case upstream.SessionLost:
		return s.sessionLost(now, e, out)
	case upstream.Listening:
		return s.streamed(now, out)
	case upstream.ListenFailed:
		out = append(out, kernel.Log(slog.LevelDebug, "listen stream failed", "err", e.Err, "final", e.Final))
		if !e.Final && s.phase == message.Ready {
			return s.ask(now, out)
		}
		return s.streamed(now, out)
	case upstream.Noise:
		s.spoke, s.mute = true, false
		return s.noised(now, e, out)
	case upstream.Stderr:
		s.stderr = append(s.stderr, e.Line)
		if len(s.stderr) > keptStderr {
			s.stderr = append(s.stderr[:0], s.stderr[len(s.stderr)-keptStderr:]...)
		}
		return append(out, kernel.Log(slog.LevelDebug, "server wrote to stderr", "line", e.Line))
	case upstream.Closed:
		s.linked = false
		if n := len(e.Stderr); n > 0 {
			s.lastLine = e.Stderr[n-1]
		}
		if s.diedOfIt() {
			return s.reopen(now, message.EraModern, out)
		}
		s.mute = s.mute || s.phase == message.Handshaking && s.probe.fresh && !s.spoke
		return s.lose(now, closedReason(e), s.returnUnsent(closedReason(e), out))
	}
	return out
}

// lose ends the incarnation: every call gets its answer, and the next attempt is set.
func (s *state) lose(now time.Time, reason string, out []kernel.Effect) []kernel.Effect {
	return s.retreat(now, message.Waiting, reason, out)
}

// retreat ends the incarnation and waits in the phase for the next attempt.
func (s *state) retreat(now time.Time, phase message.Phase, reason string, out []kernel.Effect) []kernel.Effect {
	wasReady := s.phase == message.Ready && now.Sub(s.readySince) >= steady
	out = s.abandonPending(protocol.BackendDisconnected, reason, out)
	out = s.shut(out)
	if s.phase == message.Draining || s.phase == message.Stopped {
		out = s.failRounds(protocol.BackendDisconnected, reason, out)
		return append(s.enter(now, message.Stopped, reason, out), kernel.Leave())
	}
	s.failures++
	pause := time.Duration(0)
	if !wasReady {
		pause = jitter(s.rng, s.backoff(s.failures))
	} else {
		s.failures = 0
	}
	s.nextAttempt = now.Add(pause)
	out = s.enter(now, phase, reason, out)
	return append(out, kernel.WakeAfter(pause, wake{*s.incarnation}))
}

// shut closes the connection, if one is open; its later events are ignored, and nobody is owed an answer on it.
func (s *state) shut(out []kernel.Effect) []kernel.Effect {
	s.linked, s.pid = false, 0
	clear(s.left)
	clear(s.saying)
	return append(out, kernel.Act(closeLink{closeGrace}))
}

// drain lets running calls finish, then stops.
func (s *state) drain(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.phase == message.Stopped || s.phase == message.Draining {
		return out
	}
	out = s.enter(now, message.Draining, "being replaced", out)
	if !s.linked {
		out = s.failRounds(protocol.BackendDisconnected, "it is being replaced", out)
	}
	return s.stopWhenDrained(now, out)
}

func (s *state) stopWhenDrained(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.phase != message.Draining || len(s.byCall)+len(s.rounds)+len(s.mending) > 0 {
		return out
	}
	return append(s.stop(now, protocol.BackendDisconnected, "drained", out), kernel.Leave())
}

// stop answers everything and closes the connection.
func (s *state) stop(now time.Time, name protocol.FaultName, reason string, out []kernel.Effect) []kernel.Effect {
	if s.phase == message.Stopped {
		return out
	}
	out = s.cancelAll(reason, out)
	out = s.abandonPending(name, reason, out)
	out = s.failRounds(name, reason, out)
	out = s.shut(out)
	return s.enter(now, message.Stopped, reason, out)
}

// report is what the backend tells people.
func (s *state) report() status.Backend {
	b := status.Backend{
		Server: s.server.Name, Replica: s.replica, Catalog: s.catalog, State: string(s.phase), Reason: message.Explain(s.reason, s.lastLine), Incarnation: *s.incarnation,
		Transport: s.kind, PID: s.pid, NextAttempt: s.nextAttempt, Since: s.since, InFlight: len(s.byCall) + len(s.rounds), Noise: s.noise,
		Stderr: append([]string(nil), s.stderr...),
	}
	if s.info != nil {
		b.Protocol = s.info.Version
	}
	return b
}

// closedReason says why a connection ended. What the process wrote on stderr is not for clients: it may hold secrets.
func closedReason(e upstream.Closed) string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "the connection was closed"
}
