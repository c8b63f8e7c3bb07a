package pool

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// step applies msg to s at the time now and appends the effects to out. It routes each message to the component that handles it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	s.now = now
	switch msg.(type) {
	case message.Dispatch, message.CallEnded, message.Cancel, message.NotExecuted, message.ConnectionLost, message.CallParked,
		message.UnattributedRequest, queueExpired, timeoutsDue, doubtDue, pauseDue:
		return s.stepCalls(now, msg, out)
	case message.BackendChanged, spawned, message.RequestConnect, message.StartSlotGranted, message.RootsChanged, retireDue, kernel.ChildStopped:
		return s.stepReplicas(now, msg, out)
	case message.ResourceChanged, message.AllResourcesChanged, message.QueryResult, message.SubscribeURI, message.Resubscribe,
		message.UnsubscribeURI, message.UnsubscribeAll, retryDue, subscribesDue, graceOver:
		return s.stepSubscriptions(now, msg, out)
	case message.LoginChanged, message.ServerRequestResult, message.RequestLogin, message.LoginAnswer, message.EndLogins,
		loginRevoked, loginDue, loginPageMissing:
		return s.stepLogins(now, msg, out)
	case message.ServerLog, message.SetLevel, message.ResourcesMentioned, message.ClientGone, message.Principals, tenantsDue:
		return s.stepTenants(now, msg, out)
	case message.Listed, message.FetchResult, message.ListStale, message.ListServed, message.Refresh, message.ConfirmResult:
		return s.stepCatalog(now, msg, out)
	}
	return s.stepLife(now, msg, out)
}

// stepLife handles the messages that start, change or stop the server as a whole.
func (s *state) stepLife(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.started(now, out)
	case message.Reconfigure:
		if out = s.reconfigure(now, m, out); m.Confirm != (message.Confirm{}) {
			out = append(out, kernel.Tell(s.registry, m.Confirm))
		}
	case message.NewLimits:
		s.limits, s.catalog.remembered.limits = m.Limits, m.Limits
	case message.Restart:
		if m.Member != "" {
			return s.restartMember(now, m.Member, out)
		}
		return s.replace(now, out)
	case clientsServed:
		return s.startAfterClients(now, out)
	case message.BackendIdle:
		return s.backendIdle(now, m, out)
	case idleDue:
		return s.idleDue(now, m, out)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Stopping:
		return s.stopping(m, out)
	}
	return out
}

// stopping answers everybody who waits.
func (s *state) stopping(m kernel.Stopping, out []kernel.Effect) []kernel.Effect {
	out = s.failSubscribes(out)
	name, text := protocol.ServerUnavailable, "server "+s.server.Name+" was switched off, removed or begun anew"
	if m.Why == kernel.WhyShutdown {
		name, text = protocol.ShuttingDown, "the gateway is shutting down"
	}
	return s.failQueue(name, text, s.failLogins(name, text, out))
}

// start makes the server known and starts its backends.
func (s *state) started(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.settled, s.failed = s.fault != "" || s.isLazy() && s.knowsCatalog(), s.fault != ""
	out = append(out, kernel.Tell(s.gateway, message.StartSlotsReset{Pool: s.self}))
	out = s.announce(s.publishRemembered(out))
	if s.catalog.waitsForClients = s.catalog.fromMemory; s.catalog.waitsForClients {
		return append(out, kernel.Tell(s.registry, message.Confirm{Who: s.self, Key: rememberedPublished}), kernel.WakeAfter(clientsWait, clientsServed{}))
	}
	if s.fault != "" {
		return append(out, kernel.Log(slog.LevelError, "server is misconfigured and is not started", "reason", s.fault))
	}
	return s.startUnlessLazy(now, out)
}

// announce tells the registry what it needs to know of the server.
func (s *state) announce(out []kernel.Effect) []kernel.Effect {
	server := catalog.Server{Name: s.server.Name, Order: s.server.Order, Pool: s.self, Life: s.life, Rules: s.server, Settled: s.settled}
	if s.catalog.fromMemory {
		server.State = catalog.Cached
	}
	s.logins.announced, server.Login = s.currentLoginNeed()
	if s.catalog.info != nil {
		server.Instructions, server.Capabilities, server.Protocol = s.catalog.info.Instructions, s.catalog.info.Capabilities, s.catalog.info.Version
	}
	return append(out, kernel.Tell(s.registry, message.SetServerRules{Server: server}))
}

// changed follows a backend through its phases.
func (s *state) backendChanged(now time.Time, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Backend)
	if conn == nil {
		return out
	}
	if m.Anew {
		out = s.failQueriesOf(conn, s.failCallsOf(conn, out))
	}
	was := conn.phase
	if m.Phase == message.Ready && was == message.Ready && conn.incarnation == m.Incarnation {
		conn.reason = m.Reason // only that has changed
		return out
	}
	s.recordPhase(now, conn, m)
	out = s.drainIfLost(conn, s.releaseStartSlot(conn, out))
	switch m.Phase {
	case message.Syncing:
		out = s.followLeader(s.recordEra(conn, m.Info, out))
	case message.Ready:
		out = s.becameReady(now, conn, m, out)
	case message.Waiting, message.NeedsLogin:
		conn.attempts.everFailed = true
		if m.Refused && conn.legacy {
			return s.legacyRefused(now, conn, out)
		}
		// First what is to come of it: calls that wait are not turned away for a login that has come meanwhile.
		out = s.becameUnavailable(now, conn, was, s.retryWithLogin(conn, s.drainReplaced(conn, out)))
		out = s.announceLoginNeed(out)
	case message.Stopped:
		return out
	default:
		out = s.followLeader(out)
	}
	return s.rememberCatalog(now, s.updateSettled(out))
}

// enter notes the phase of a backend.
func (s *state) recordPhase(now time.Time, conn *connection, m message.BackendChanged) {
	if conn.phase == message.Ready {
		s.subscriptions.markUpdatesLost(conn)
	}
	conn.recordAttempt(now, conn.phase, m)
	conn.noLogin = m.NoLogin
	conn.phase, conn.reason, conn.lastLine, conn.nextAttempt, conn.incarnation, conn.since = m.Phase, m.Reason, m.LastLine, m.NextAttempt, m.Incarnation, now
	conn.catalog.confirm, conn.catalog.visible = 0, false
	if conn.main {
		s.replicas.opened[conn.replica] = max(s.replicas.opened[conn.replica], m.Incarnation)
	}
}

// becameReady gives a backend its part, and asks whether clients see what it has listed.
func (s *state) becameReady(now time.Time, conn *connection, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	conn.attempts.everReady, conn.catalog.info = true, m.Info
	out = s.followLeader(s.rememberEra(conn, m.Known, out))
	conn.catalog.confirm = s.catalog.nextConfirm()
	out = s.resumeLoginWaiters(now, conn, s.sendQueued(now, out))
	return append(out, kernel.Tell(s.registry, message.Confirm{Who: s.self, Key: conn.catalog.confirm}))
}

// becameUnavailable: a backend has lost its connection, or got none. What waits for one of legacy clients' goes out on the modern
// one. Others to the same replica may not have noticed yet.
func (s *state) becameUnavailable(now time.Time, conn *connection, was message.Phase, out []kernel.Effect) []kernel.Effect {
	if conn.legacy {
		out = s.addForSubscribers(s.sendQueued(now, out))
	}
	out = append(out, kernel.Log(slog.LevelWarn, "server is not available", s.logAttrs(conn, "was", string(was), "reason", message.Explain(conn.reason, conn.lastLine), "nextAttempt", conn.nextAttempt.Format(time.RFC3339))...))
	for _, other := range s.replicas.connections {
		if other != conn && other.replica == conn.replica && other.phase == message.Ready {
			out = append(out, kernel.Tell(other.ref, message.CheckConnection{}))
		}
	}
	return s.followLeader(s.failWaitingSubscribes(s.failUnservable(now, out)))
}

// confirmed: clients see what the backend has listed. Before that a call by a name that was just listed fails, so nobody
// is told that it is ready.
func (s *state) catalogConfirmed(m message.ConfirmResult, out []kernel.Effect) []kernel.Effect {
	if m.Key == rememberedPublished {
		return append(out, kernel.WakeAfter(headStart, clientsServed{}))
	}
	out = s.answerRefreshes(m.Key, out)
	for _, conn := range s.replicas.connections {
		if conn.catalog.confirm != m.Key || conn.phase != message.Ready {
			continue
		}
		conn.catalog.visible = true
		out = s.loginDecided(s.followLeader(s.drainReplaced(conn, out)))
		return append(out, kernel.Log(slog.LevelInfo, "server is ready", s.logAttrs(conn, "protocol", conn.catalog.info.Version, "incarnation", conn.incarnation)...))
	}
	return out
}

// noteSettled notes when every replica has been ready or has failed once.
func (s *state) updateSettled(out []kernel.Effect) []kernel.Effect {
	all, failed := true, true
	for _, conn := range s.replicas.connections {
		if !conn.main {
			continue
		}
		all = all && (conn.attempts.everReady || conn.attempts.everFailed)
		failed = failed && conn.attempts.everFailed && !conn.attempts.everReady
	}
	if !all || s.settled {
		return out
	}
	s.settled, s.failed = true, failed
	return s.announce(out)
}

// childStopped forgets a backend that has gone; one that was not meant to go is replaced.
func (s *state) childStopped(now time.Time, m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	conn := s.replicas.byBackend(m.Child)
	if conn == nil {
		return out
	}
	out = s.failCallsOf(conn, out)
	s.replicas.remove(conn)
	conn.phase = message.Stopped
	s.forgetTenant(conn.tenant)
	out = s.releaseStartSlot(conn, s.stopLoginOf(conn, out))
	s.subscriptions.markUpdatesLost(conn)
	out = s.rememberCatalog(now, s.followLeader(s.failQueriesOf(conn, out)))
	if conn.leaving || conn.retiring {
		return out
	}
	conn.attempts.everFailed = true
	out = append(out, kernel.Log(slog.LevelError, "backend stopped after too many faults; restart the server to try again", "replica", conn.replica, "err", m.Err))
	s.settled, s.failed = true, true
	return s.failWaitingSubscribes(s.failUnservable(now, s.announce(out)))
}

// lostCalls answers the calls of a backend that has lost its memory.
func (s *state) failCallsOf(conn *connection, out []kernel.Effect) []kernel.Effect {
	for _, call := range slices.SortedFunc(maps.Keys(s.calls.running), message.CallRef.Compare) {
		r := s.calls.running[call]
		if r.conn != conn {
			continue
		}
		s.finish(call, r)
		fault := &protocol.Fault{Name: protocol.BackendDisconnected, Server: s.server.Name, Message: "the backend was lost while it worked on the call"}
		out = append(out, kernel.Tell(call.Holder, message.Failed{Seq: call.Seq, Fault: fault}))
	}
	return out
}
