package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// step applies msg to s at the time now and appends the effects to out. It routes each message to the component
// that handles it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	s.now = now
	switch msg.(type) {
	case message.Dispatch, message.CallEnded, message.Cancel, message.NotExecuted, message.ConnectionLost, message.CallParked,
		message.UnattributedRequest, queueExpired, timeoutsDue, autoLeaseDue, pauseDue:
		return s.stepCalls(now, msg, out)
	case message.BackendChanged, spawned, message.RequestConnect, message.StartSlotGranted, message.RootsChanged, retireDue, kernel.ChildStopped:
		return s.stepReplicas(now, msg, out)
	case message.ResourceChanged, message.AllResourcesChanged, message.QueryResult, message.SubscribeURI, message.Resubscribe,
		message.UnsubscribeURI, message.UnsubscribeAll, retryDue, subscribesDue, graceOver:
		return s.stepSubscriptions(now, msg, out)
	case message.LoginChanged, message.ServerRequestResult, message.RequestLogin, message.LoginAnswer, message.EndLogins,
		loginRevoked, revokeDue, loginDue, loginPageMissing:
		return s.stepLogins(now, msg, out)
	case message.ServerLog, message.SetLevel, message.ResourcesMentioned, message.PeerMentioned, message.ClientGone, message.Principals, tenantsDue:
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
		return s.restart(now, m, out)
	case message.NodeJoined:
		return s.nodeJoined(m, out)
	case message.PeerCatalog:
		return s.peerCatalog(m, out)
	case message.NodesChanged:
		return s.nodesChanged(m, out)
	case clientsServed:
		return s.startAfterClients(now, out)
	case message.BackendIdle:
		return s.backendIdle(now, m, out)
	case idleDue:
		return s.idleDue(now, m, out)
	case catalogDue:
		return s.catalogDue(now, m, out)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Stopping:
		return s.stopping(m, out)
	}
	return out
}

// stopping fails every waiting call and every waiting subscription request.
func (s *state) stopping(m kernel.Stopping, out []kernel.Effect) []kernel.Effect {
	out = s.failSubscribes(out)
	name, text := protocol.ServerUnavailable, "server "+s.server.Name+" was disabled, removed or restarted"
	if m.Reason == kernel.WhyShutdown {
		name, text = protocol.ShuttingDown, "the gateway is shutting down"
	}
	return s.failQueue(name, text, s.failLogins(name, text, out))
}

// started announces the server to the registry and starts its backends. A misconfigured server is not started. If
// clients can see a remembered catalog, the backends start later (startAfterClients).
func (s *state) started(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.settled, s.failed = s.fault != "" || s.isLazy() && s.knowsCatalog(), s.fault != ""
	out = append(out, kernel.Tell(s.gateway, message.StartSlotsReset{Pool: s.self}))
	out = s.announce(s.publishRemembered(out))
	if s.catalog.waitsForClients = s.catalog.fromMemory; s.catalog.waitsForClients {
		return append(out, kernel.Tell(s.registry, message.Confirm{From: s.self, Key: rememberedPublished}), kernel.WakeAfter(clientsWait, clientsServed{}))
	}
	if s.fault != "" {
		return append(out, kernel.Log(slog.LevelError, "server is misconfigured and is not started", "reason", s.fault))
	}
	return s.startFirst(now, out)
}
