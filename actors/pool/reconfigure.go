package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// reconfigure takes a new configuration: what names and limits calls applies at once, a new transport replaces the connections.
func (s *state) reconfigure(now time.Time, m message.Reconfigure, out []kernel.Effect) []kernel.Effect {
	before := s.server
	s.server, s.fault, s.remembered.server = m.Server, m.Server.Fault, m.Server
	if id := CatalogIdentity(m.Server); id != s.remembered.identity {
		out = s.becomesAnother(id, m.Known, out)
	}
	out = s.settingsChanged(s.announce(s.renewLogins(&before, out)))
	switch {
	case m.Transport && s.isLazy() && s.asleep() && s.learned():
		return out
	case m.Transport && s.fault == "" && before.Fault == "":
		return s.rememberCatalog(now, s.replaceChanged(now, before, s.watchUse(now, out)))
	case m.Transport:
		s.forgetDoubt()
		return s.replace(now, out)
	}
	if before.Startup != s.server.Startup || before.IdleStop != s.server.IdleStop {
		out = s.startupChanged(now, out)
	}
	return s.pump(now, s.tellSettings(out))
}

// replace starts new backends; the present ones go when these have taken their places.
func (s *state) replace(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.fault != "" {
		for _, sl := range s.slots {
			if !sl.leaving {
				out = s.dismiss(sl, out)
			}
		}
		s.settled, s.failed = true, true
		return s.lead(s.failWaitingSubscribes(s.failQueue(s.unavailableName(), s.whyUnavailable(now), out)))
	}
	for _, sl := range s.slots {
		out = s.retire(sl, out)
	}
	if !s.canAsk() {
		s.settled, s.failed = false, false
	}
	return s.gone(now, s.spawnMissing(now, map[int]bool{}, s.watchUse(now, out)))
}
