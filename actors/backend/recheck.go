package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// checkEra checks whether an error over HTTP means that the server's era has changed. A server with a URL may be
// replaced while the gateway is connected. Its calls would then fail until the era is determined again.
func (s *state) checkEra(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if s.link.ownsServer || s.life.phase != message.Ready {
		return out
	}
	switch code, _ := protocol.ErrorNumber(&e.Frame); {
	case s.conn.era == protocol.EraLegacy && discoveryOf(&e.Frame).era == protocol.EraModern:
		return s.eraChanged(now, out)
	case s.mayHaveLeftEra(e.Status) && !saysModern(code):
		return s.recheck(out)
	}
	return out
}

// saysModern reports whether a modern server sends this error code with HTTP 400 (Bad Request) or 404 (Not Found): the
// modern era's own codes, an unknown method, or invalid params.
func saysModern(code int) bool {
	switch code {
	case codeHeaderMismatch, codeCapabilityRequired, codeUnsupportedVersion, codeNoMethod, codeInvalidParams:
		return true
	}
	return false
}

// recheck sends server/discover to a server that no longer behaves like a modern one. Calls continue meanwhile.
func (s *state) recheck(out []kernel.Effect) []kernel.Effect {
	if s.conn.rechecking != 0 || s.life.phase != message.Ready || s.conn.era != protocol.EraModern {
		return out
	}
	out = s.expireOwn(s.request(protocol.MethodServerDiscover, nil, (*state).recheckUnanswered, out))
	s.conn.rechecking = s.conn.lastID
	return out
}

// recheckUnanswered handles a check without a response, which proves nothing. The next call that fails the same way
// checks again.
func (s *state) recheckUnanswered(_ time.Time, _ *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	s.conn.rechecking = 0
	return out
}

// rechecked handles the response to the check. Only a definite response changes the era. An overloaded or broken server
// is checked again after the next such error.
func (s *state) rechecked(now time.Time, f *protocol.Frame, status int, out []kernel.Effect) []kernel.Effect {
	s.conn.rechecking = 0
	switch code, _ := protocol.ErrorNumber(f); {
	case discoveryOf(f).era == protocol.EraModern, code == codeHeaderMismatch, code == codeCapabilityRequired:
		return out
	case isEraNeutral(status), code == codeInternal && !s.mayHaveLeftEra(status):
		return out
	}
	return s.eraChanged(now, out)
}

// eraChanged closes the connection, because the server now speaks another era. The next connection determines the era
// again.
func (s *state) eraChanged(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.life.known = message.KnownEra{}
	return s.lose(now, "the server no longer speaks MCP "+s.conn.info.Version, out)
}

// mayHaveLeftEra reports whether an HTTP status without a modern error may mean that the server speaks a legacy
// era now.
func (s *state) mayHaveLeftEra(status int) bool {
	return s.conn.era == protocol.EraModern && status/100 == 4 && !isEraNeutral(status) // the Rust SDK answers 422, others 400, 404 or 405
}
