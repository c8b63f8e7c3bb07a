package pool

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	principals "goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	s.now = now
	switch m := msg.(type) {
	case message.Dispatch:
		switch fault := s.tooOften(now, m.Request); {
		case fault == nil:
		case !m.Request.RateReports:
			return append(out, s.answer(m, fault))
		case now.Sub(s.rateTold) >= time.Second:
			s.rateTold = now
			out = append(out, kernel.Log(slog.LevelInfo, "policy would refuse a call: too many", "who", principals.IDIn(m.Request.Caller.Principal), "item", m.Request.Item, "rate", m.Request.Rate.String()))
		}
		return s.dispatch(now, queued{Dispatch: m, since: now}, out)
	case message.CallEnded:
		return s.ended(now, m, out)
	case message.Cancel:
		if m.TimedOut {
			out = s.timedOut(now, out)
		}
		return s.cancel(m, out)
	case message.NotExecuted:
		return s.returned(now, m, out)
	case message.ConnectionLost:
		return s.lost(now, m, out)
	case message.CallParked:
		return s.park(now, m, out)
	case queueExpired:
		return s.expire(now, m, out)
	case timeoutsDue:
		return s.timeoutsDue(now, out)
	case doubtDue:
		return s.doubtDue(now, m, out)
	case pauseDue:
		return s.pauseDue(now, m, out)
	}
	return s.ofBackends(now, msg, out)
}

// ofBackends handles what the pool's backends tell of themselves and of what their server offers.
func (s *state) ofBackends(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.BackendChanged:
		return s.changed(now, m, out)
	case spawned:
		return s.spawned(m, out)
	case message.RequestConnect:
		return s.wantStart(m, out)
	case message.StartSlotGranted:
		return s.mayStart(m, out)
	case message.BackendIdle:
		return s.rests(now, m, out)
	case restDue:
		return s.restDue(now, m, out)
	case retireDue:
		return s.retireDue(now, m, out)
	case kernel.ChildStopped:
		return s.childStopped(now, m, out)
	case message.UnattributedRequest:
		return s.inDoubt(now, out)
	case message.Listed:
		return s.listed(now, m, out)
	case message.FetchResult:
		return s.fetched(m, out)
	case message.ListStale:
		if leader := s.leader(); leader != nil {
			out = append(out, kernel.Tell(leader.ref, m))
		}
		return out
	case message.ServerLog:
		return s.logged(m, out)
	case message.ClientGone:
		return s.clientGone(m, out)
	case message.Principals:
		return s.principals(m, out)
	case tenantsDue:
		return s.tenantsDue(now, out)
	}
	return s.ofResources(now, msg, out)
}

// ofResources handles what is about single resources: who has mentioned them, who wants to know of their changes.
func (s *state) ofResources(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ResourcesMentioned:
		s.mentioned(m)
		return out
	case message.ResourceChanged:
		return s.heardOfUpdate(m, out)
	case message.AllResourcesChanged:
		return s.allUpdated(m, out)
	case message.QueryResult:
		return s.queried(m, out)
	case message.SubscribeURI:
		return s.subscribe(now, m, out)
	case message.Resubscribe:
		return s.resubscribe(m, s.wake(now, out))
	case message.UnsubscribeURI:
		return s.unsubscribe(m.Who, subKey{m.Tenant, m.URI}, out)
	case message.UnsubscribeAll:
		return s.unsubscribeAll(m.Who, out)
	case askAgain:
		return s.askAgain(out)
	case subscribesDue:
		return s.subscribesDue(now, out)
	case unsubscribeDue:
		return s.unsubscribeDue(m, out)
	}
	return s.ofGateway(now, msg, out)
}

// ofGateway handles what the rest of the gateway asks of the server as a whole.
func (s *state) ofGateway(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ListServed:
		return s.fetch(message.Fetch{Kind: m.Kind}, out)
	case message.Refresh:
		return s.refresh(m, out)
	case message.ConfirmResult:
		return s.confirmed(m, out)
	case message.SetLevel:
		s.level = m.Level
		return s.toAllBut(m, func(sl *slot) bool { return sl.tenant != nil }, out)
	case message.LoginChanged, message.ServerRequestResult, message.RequestLogin, message.LoginAnswer, message.EndLogins, loginRevoked, loginDue, loginUnasked:
		return s.ofLogins(now, m, out)
	case message.RootsChanged:
		return s.toAllBut(m, func(sl *slot) bool { return sl.tenant != nil && sl.tenant.Client != m.Client }, out)
	case message.Inspect:
		m.Reply(s.report())
		return out
	}
	return s.ofLife(now, msg, out)
}

// ofLife handles what begins, changes or ends the pool.
func (s *state) ofLife(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(now, out)
	case message.Reconfigure:
		if out = s.reconfigure(now, m, out); m.Confirm != (message.Confirm{}) {
			out = append(out, kernel.Tell(s.registry, m.Confirm))
		}
		return out
	case message.Restart:
		if m.Member != "" {
			return s.restartMember(now, m.Member, out)
		}
		return s.replace(now, out)
	case clientsServed:
		return s.clientsServed(now, out)
	case message.NewLimits:
		s.limits, s.remembered.limits = m.Limits, m.Limits
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
func (s *state) start(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.settled, s.failed = s.fault != "" || s.isLazy() && s.learned(), s.fault != ""
	out = append(out, kernel.Tell(s.gateway, message.StartSlotsReset{Pool: s.self}))
	out = s.announce(s.showRemembered(out))
	if s.clientsFirst = s.cached; s.clientsFirst {
		return append(out, kernel.Tell(s.registry, message.Confirm{Who: s.self, Key: clientsTold}), kernel.WakeAfter(clientsWait, clientsServed{}))
	}
	if s.fault != "" {
		return append(out, kernel.Log(slog.LevelError, "server is misconfigured and is not started", "reason", s.fault))
	}
	return s.begin(now, out)
}

// announce tells the registry what it needs to know of the server.
func (s *state) announce(out []kernel.Effect) []kernel.Effect {
	server := catalog.Server{Name: s.server.Name, Order: s.server.Order, Pool: s.self, Life: s.life, Rules: s.server, Settled: s.settled}
	if s.cached {
		server.State = catalog.Cached
	}
	s.lock, server.Login = s.lockedBy()
	if s.info != nil {
		server.Instructions, server.Capabilities, server.Protocol = s.info.Instructions, s.info.Capabilities, s.info.Version
	}
	return append(out, kernel.Tell(s.registry, message.SetServerRules{Server: server}))
}

// changed follows a backend through its phases.
func (s *state) changed(now time.Time, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Backend)
	if sl == nil {
		return out
	}
	if m.Anew {
		out = s.takeBackQueries(sl, s.lostCalls(sl, out))
	}
	was := sl.phase
	if m.Phase == message.Ready && was == message.Ready && sl.incarnation == m.Incarnation {
		sl.reason = m.Reason // only that has changed
		return out
	}
	s.enter(now, sl, m)
	out = s.relieved(sl, s.started(sl, out))
	switch m.Phase {
	case message.Syncing:
		out = s.lead(s.speaks(sl, m.Info, out))
	case message.Ready:
		out = s.becameReady(now, sl, m, out)
	case message.Waiting, message.NeedsLogin:
		sl.hasFailed = true
		if m.Refused && sl.legacy {
			return s.refusedLegacy(now, sl, out)
		}
		// First what is to come of it: calls that wait are not turned away for a login that has come meanwhile.
		out = s.becameUnavailable(now, sl, was, s.wantsLogin(sl, s.relieve(sl, out)))
		out = s.announceLocked(out)
	case message.Stopped:
		return out
	default:
		out = s.lead(out)
	}
	return s.rememberCatalog(now, s.noteSettled(out))
}

// enter notes the phase of a backend.
func (s *state) enter(now time.Time, sl *slot, m message.BackendChanged) {
	if sl.phase == message.Ready {
		s.updatesLost(sl)
	}
	sl.attempted(now, sl.phase, m)
	sl.noLogin = m.NoLogin
	sl.phase, sl.reason, sl.lastLine, sl.nextAttempt, sl.incarnation, sl.since = m.Phase, m.Reason, m.LastLine, m.NextAttempt, m.Incarnation, now
	sl.confirm, sl.offered = 0, false
	if sl.main {
		s.connections[sl.replica] = max(s.connections[sl.replica], m.Incarnation)
	}
}

// becameReady gives a backend its part, and asks whether clients see what it has listed.
func (s *state) becameReady(now time.Time, sl *slot, m message.BackendChanged, out []kernel.Effect) []kernel.Effect {
	sl.wasReady, sl.info = true, m.Info
	out = s.lead(s.remember(sl, m.Known, out))
	s.confirms++
	sl.confirm = s.confirms
	out = s.resumeLogins(now, sl, s.pump(now, out))
	return append(out, kernel.Tell(s.registry, message.Confirm{Who: s.self, Key: sl.confirm}))
}

// becameUnavailable: a backend has lost its connection, or got none. What waits for one of legacy clients' goes out on the modern
// one. Others to the same replica may not have noticed yet.
func (s *state) becameUnavailable(now time.Time, sl *slot, was message.Phase, out []kernel.Effect) []kernel.Effect {
	if sl.legacy {
		out = s.growForSubscribers(s.pump(now, out))
	}
	out = append(out, kernel.Log(slog.LevelWarn, "server is not available", s.whose(sl, "was", string(was), "reason", message.Explain(sl.reason, sl.lastLine), "nextAttempt", sl.nextAttempt.Format(time.RFC3339))...))
	for _, other := range s.slots {
		if other != sl && other.replica == sl.replica && other.phase == message.Ready {
			out = append(out, kernel.Tell(other.ref, message.CheckConnection{}))
		}
	}
	return s.lead(s.failWaitingSubscribes(s.failHopeless(now, out)))
}

// confirmed: clients see what the backend has listed. Before that a call by a name that was just listed fails, so nobody
// is told that it is ready.
func (s *state) confirmed(m message.ConfirmResult, out []kernel.Effect) []kernel.Effect {
	if m.Key == clientsTold {
		return append(out, kernel.WakeAfter(headStart, clientsServed{}))
	}
	out = s.refreshed(m.Key, out)
	for _, sl := range s.slots {
		if sl.confirm != m.Key || sl.phase != message.Ready {
			continue
		}
		sl.offered = true
		out = s.unlocked(s.lead(s.relieve(sl, out)))
		return append(out, kernel.Log(slog.LevelInfo, "server is ready", s.whose(sl, "protocol", sl.info.Version, "incarnation", sl.incarnation)...))
	}
	return out
}

// noteSettled notes when every replica has been ready or has failed once.
func (s *state) noteSettled(out []kernel.Effect) []kernel.Effect {
	all, failed := true, true
	for _, sl := range s.slots {
		if !sl.main {
			continue
		}
		all = all && (sl.wasReady || sl.hasFailed)
		failed = failed && sl.hasFailed && !sl.wasReady
	}
	if !all || s.settled {
		return out
	}
	s.settled, s.failed = true, failed
	return s.announce(out)
}

// childStopped forgets a backend that has gone; one that was not meant to go is replaced.
func (s *state) childStopped(now time.Time, m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	sl := s.slotOf(m.Child)
	if sl == nil {
		return out
	}
	out = s.lostCalls(sl, out)
	s.slots = slices.DeleteFunc(s.slots, func(other *slot) bool { return other == sl })
	sl.phase = message.Stopped
	s.forgetTenant(sl.tenant)
	out = s.started(sl, s.endLogin(sl, out))
	s.updatesLost(sl)
	out = s.rememberCatalog(now, s.lead(s.takeBackQueries(sl, out)))
	if sl.leaving || sl.retiring {
		return out
	}
	sl.hasFailed = true
	out = append(out, kernel.Log(slog.LevelError, "backend stopped after too many faults; restart the server to try again", "replica", sl.replica, "err", m.Err))
	s.settled, s.failed = true, true
	return s.failWaitingSubscribes(s.failHopeless(now, s.announce(out)))
}

// lostCalls answers the calls of a backend that has lost its memory.
func (s *state) lostCalls(sl *slot, out []kernel.Effect) []kernel.Effect {
	for _, call := range slices.SortedFunc(maps.Keys(s.running), message.CallRef.Compare) {
		r := s.running[call]
		if r.at != sl {
			continue
		}
		s.free(call, r)
		fault := &protocol.Fault{Name: protocol.BackendDisconnected, Server: s.server.Name, Message: "the backend was lost while it worked on the call"}
		out = append(out, kernel.Tell(call.Holder, message.Failed{Seq: call.Seq, Fault: fault}))
	}
	return out
}
