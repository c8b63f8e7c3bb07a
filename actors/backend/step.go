package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

const (
	closeGrace  = 500 * time.Millisecond // from closing stdin to SIGTERM (Windows: CTRL_BREAK), and from there to SIGKILL
	openingTime = time.Second            // limit for a server to accept the end of the handshake (over HTTP) and to open its stream
)

// transitions are the legal transitions between phases. A test checks them and writes them to docs/actors.md.
var transitions = map[message.Phase][]message.Phase{
	message.Idle:          {message.Connecting, message.Misconfigured, message.Draining, message.Stopped},
	message.Connecting:    {message.Handshaking, message.Waiting, message.NeedsLogin, message.Draining, message.Stopped},
	message.Handshaking:   {message.Syncing, message.Waiting, message.NeedsLogin, message.Connecting, message.Draining, message.Stopped},
	message.Syncing:       {message.Ready, message.Waiting, message.NeedsLogin, message.Connecting, message.Draining, message.Stopped},
	message.Ready:         {message.Connecting, message.Waiting, message.NeedsLogin, message.Draining, message.Stopped},
	message.Waiting:       {message.Connecting, message.Draining, message.Stopped},
	message.NeedsLogin:    {message.Connecting, message.Draining, message.Stopped},
	message.Draining:      {message.Stopped},
	message.Misconfigured: {message.Stopped},
	message.Stopped:       {},
}

// step applies msg to s at the time now and appends the effects to out. It routes each message to its handler.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case linkEvent:
		if m.incarnation != s.conn.incarnation || !s.conn.open {
			return out // from an earlier connection
		}
		return s.linkEvent(now, m.event, out)
	case bound:
		if m.of() != s.conn.incarnation {
			return out
		}
		return s.timer(now, m, out)
	case roundDue:
		return s.roundDue(m, out)
	case message.Send:
		return s.send(m, out)
	case message.CancelSent:
		return s.cancelCall(now, m, out)
	case message.ServerRequestResult:
		return s.answerQuestion(now, m, out)
	case message.DropTask:
		return s.dropCreatedTask(m, out)
	case message.Query, message.Fetch, message.ListStale, message.CheckConnection, message.QueryIdle, message.NewServer, message.SetLevel, message.RootsChanged:
		return s.stepConnection(now, msg, out)
	}
	return s.stepLife(now, msg, out)
}

// stepConnection handles the pool's messages about the connection as a whole.
func (s *state) stepConnection(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Query:
		return s.query(m, out)
	case message.Fetch:
		return s.refetchSilent(now, m, out)
	case message.ListStale:
		return s.listChanged(m.Kind, out)
	case message.CheckConnection:
		return s.probeReach(now, out)
	case message.QueryIdle:
		return s.reportIdle(out)
	case message.NewServer:
		return s.reconfigured(now, m.Server, out)
	case message.SetLevel:
		s.level = m.Level
		return s.sendLevel(out)
	case message.RootsChanged:
		return s.rootsChanged(out)
	}
	return out
}

// stepLife handles the messages that start or stop the backend or request its status.
func (s *state) stepLife(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		s.life.since = now
		out = append(out, kernel.Tell(s.pool, message.BackendChanged{Backend: s.self, Replica: s.replica, Phase: s.life.phase, Restarted: true}))
		return s.requestConnect(out)
	case message.Connect:
		return s.connectGranted(now, out)
	case message.NodeJoined:
		return s.nodeJoined(now, out)
	case message.LoggedIn:
		return s.loggedIn(out)
	case message.LoggedOut:
		return s.loggedOut(now, m, out)
	case message.Drain:
		return s.drain(now, out)
	case message.Stop:
		return append(s.stop(now, protocol.ShuttingDown, m.Reason, out), kernel.StopSelf())
	case kernel.Stopping:
		name, reason := whyStopping(m.Reason)
		return s.stop(now, name, reason, out)
	case message.Inspect:
		m.Reply(s.report(now))
	}
	return out
}

// whyStopping returns the fault for calls when the actor is stopped from outside.
func whyStopping(why string) (protocol.FaultName, string) {
	switch why {
	case kernel.WhyShutdown:
		return protocol.ShuttingDown, "the gateway is shutting down"
	case kernel.WhyRestarting, kernel.WhyFailed:
		return protocol.BackendDisconnected, "the gateway had an internal error"
	}
	return protocol.BackendDisconnected, "it was disabled, removed or restarted"
}

// starting reports whether a connection is being opened and has not been ready yet.
func (s *state) starting() bool {
	return s.life.phase == message.Connecting || s.life.phase == message.Handshaking || s.life.phase == message.Syncing
}

// missing returns what a start that takes too long waits for.
func (s *state) missing() string {
	switch s.life.phase {
	case message.Handshaking:
		return "it has not answered " + s.conn.probe.unanswered()
	case message.Syncing:
		return "its lists are not complete"
	}
	return "it could not be reached"
}

// enter changes the phase and reports it to the pool.
func (s *state) enter(now time.Time, p message.Phase, reason string, out []kernel.Effect) []kernel.Effect {
	s.life.phase, s.life.since, s.life.reason = p, now, reason
	switch p {
	case message.Ready:
		s.life.fault = ""
	case message.Waiting, message.NeedsLogin:
		s.life.fault = message.Explain(reason, s.conn.process.lastLine)
	}
	changed := message.BackendChanged{
		Backend: s.self, Replica: s.replica, Phase: p, Incarnation: uint64(s.conn.incarnation), Reason: reason, LastLine: s.conn.process.lastLine, NextAttempt: s.life.nextAttempt, Refused: s.conn.seen.refused,
		NoLogin: p == message.NeedsLogin && s.life.noLogin,
	}
	switch p {
	case message.Ready:
		changed.Info, changed.Known = s.conn.info, s.life.known
	case message.Syncing:
		changed.Info = s.conn.info
	}
	return append(out, kernel.Tell(s.pool, changed))
}

// requestConnect requests the pool's permission to connect, since the number of processes that start at once is
// limited.
func (s *state) requestConnect(out []kernel.Effect) []kernel.Effect {
	s.life.connectRequested = true
	return append(out, kernel.Tell(s.pool, message.RequestConnect{Backend: s.self}))
}

// connectGranted connects, unless the backend has been stopped or connected meanwhile.
func (s *state) connectGranted(now time.Time, out []kernel.Effect) []kernel.Effect {
	switch s.life.phase {
	case message.Idle, message.Waiting, message.NeedsLogin:
		return s.connect(now, out)
	}
	return out
}

// connect opens a connection of a new incarnation.
func (s *state) connect(now time.Time, out []kernel.Effect) []kernel.Effect {
	*s.life.connections++
	s.life.connectRequested = false
	s.life.nextAttempt = time.Time{}
	s.conn = newConn(incarnation(*s.life.connections))
	s.conn.open = true
	out = s.enter(now, message.Connecting, "", out)
	out = append(out, kernel.Act(open{s.conn.incarnation}))
	s.conn.began = now
	return s.armStart(now, out)
}

// lose ends the connection and schedules the next attempt. Every call is answered or returned to the pool, or waits for
// the next connection.
func (s *state) lose(now time.Time, reason string, out []kernel.Effect) []kernel.Effect {
	return s.retreat(now, message.Waiting, reason, out)
}

// retreat ends the connection and waits in the given phase for the next attempt. A draining backend stops instead.
func (s *state) retreat(now time.Time, phase message.Phase, reason string, out []kernel.Effect) []kernel.Effect {
	lost := s.takeRepeatable(reason)
	out = s.abandonPending(protocol.BackendDisconnected, reason, out)
	out = s.shut(out)
	if s.life.phase == message.Draining || s.life.phase == message.Stopped {
		out = s.failRounds(protocol.BackendDisconnected, reason, out)
		return append(s.enter(now, message.Stopped, reason, out), kernel.StopSelf())
	}
	pause := max(s.pause(now, phase), s.life.retryAfter)
	s.life.retryAfter = 0
	s.life.nextAttempt = now.Add(pause)
	out = append(s.enter(now, phase, reason, out), lost...)
	return append(out, kernel.WakeAfter(pause, reconnectDue{s.conn.incarnation}))
}

// shut closes the connection if one is open. Its later events are ignored.
func (s *state) shut(out []kernel.Effect) []kernel.Effect {
	s.conn.open, s.conn.process.pid = false, 0
	clear(s.conn.cancelled)
	clear(s.conn.cancelling)
	return append(out, kernel.Act(closeLink{closeGrace}))
}

// drain stops the backend after its running calls have finished.
func (s *state) drain(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.life.phase == message.Stopped || s.life.phase == message.Draining {
		return out
	}
	out = s.enter(now, message.Draining, "closing when the running calls have ended", out)
	if !s.conn.open {
		out = s.failRounds(protocol.BackendDisconnected, "its connection is being closed", out)
	}
	return s.stopWhenDrained(now, out)
}

// stopWhenDrained stops a draining backend if no calls are left.
func (s *state) stopWhenDrained(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Draining || len(s.conn.byCall)+len(s.carried.rounds)+len(s.conn.headerRetries) > 0 {
		return out
	}
	return append(s.stop(now, protocol.BackendDisconnected, "drained", out), kernel.StopSelf())
}

// stop answers every call and closes the connection.
func (s *state) stop(now time.Time, name protocol.FaultName, reason string, out []kernel.Effect) []kernel.Effect {
	if s.life.phase == message.Stopped {
		return out
	}
	out = s.cancelAll(reason, out)
	out = s.abandonPending(name, reason, out)
	out = s.failRounds(name, reason, out)
	out = s.shut(out)
	return s.enter(now, message.Stopped, reason, out)
}
