package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reconfigure applies a new configuration. If the transport has changed, the connections to the changed replicas are
// replaced, or all connections if the old or the new configuration is invalid. A stopped lazy server stays stopped if its
// catalog is known. All other settings apply at once.
func (s *state) reconfigure(now time.Time, m message.Reconfigure, out []kernel.Effect) []kernel.Effect {
	before := s.server
	s.server, s.fault, s.catalog.remembered.server = m.Server, m.Server.Fault, m.Server
	if id := CatalogIdentity(m.Server); id != s.catalog.remembered.identity {
		out = s.identityChanged(id, m.Known, out)
	}
	out = s.settingsChanged(s.announce(s.dropChangedLogins(&before, out)))
	switch {
	case m.Transport && s.isLazy() && s.isStopped() && s.knowsCatalog():
		return out
	case m.Transport && s.fault == "" && before.Fault == "":
		return s.rememberCatalog(now, s.replaceChanged(now, before, s.restartIdleTimer(now, out)))
	case m.Transport:
		s.forgetAutoLease()
		s.lastError = lastError{}
		return s.replace(now, out)
	}
	if before.Startup != s.server.Startup || before.IdleStop != s.server.IdleStop {
		out = s.startupChanged(now, out)
	}
	return s.sendQueued(now, s.sendConfig(out))
}

// replace starts new main backends and retires the current connections (retire). If the configuration is invalid, no
// backend is started: the current connections are drained, and queued calls fail.
func (s *state) replace(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.fault != "" {
		for _, conn := range s.replicas.connections {
			if !conn.leaving {
				out = s.drain(conn, out)
			}
		}
		s.settled, s.failed = true, true
		return s.followLeader(s.failWaitingSubscribes(s.failQueue(s.unavailableName(), s.whyUnavailable(now), out)))
	}
	for _, conn := range s.replicas.connections {
		out = s.retire(conn, out)
	}
	if !s.replicas.hasReadyLeader() {
		s.settled, s.failed = false, false
	}
	return s.connectionsRemoved(now, s.spawnMissing(now, map[int]bool{}, s.restartIdleTimer(now, out)))
}
