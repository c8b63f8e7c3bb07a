package backend

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

const (
	steady     = 5 * time.Second        // ready for so long, the first reconnect is immediate
	closeGrace = 500 * time.Millisecond // stdin closed, then TERM, then KILL
	keptStderr = 20                     // lines of stderr kept for people
	settleTime = time.Second            // for a server over HTTP to take the end of the handshake and open its stream
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
