package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// doubt looks at an error over HTTP for what it says of the server's era: a server may be replaced while we are connected,
// and what comes then fails again and again, so the server is asked again. Processes are opened anew whenever they are replaced.
func (s *state) doubt(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	if s.link.ownsServer || s.life.phase != message.Ready {
		return out
	}
	switch code, _ := protocol.ErrorNumber(&e.Frame); {
	case s.conn.era == protocol.EraLegacy && judge(&e.Frame).era == protocol.EraModern:
		return s.eraChanged(now, out)
	case s.mayHaveLeftEra(e.Status) && !saysModern(code):
		return s.recheck(out)
	}
	return out
}

// saysModern reports whether a modern server answers with this error and HTTP 400 or 404: its own errors, an unknown
// method, or what is wrong with params.
func saysModern(code int) bool {
	switch code {
	case codeHeaderMismatch, codeCapabilityRequired, codeUnsupportedVersion, codeNoMethod, codeInvalidParams:
		return true
	}
	return false
}

// recheck asks a server that no longer behaves as a modern one whether it still is; calls go on meanwhile.
func (s *state) recheck(out []kernel.Effect) []kernel.Effect {
	if s.conn.rechecking != 0 || s.life.phase != message.Ready || s.conn.era != protocol.EraModern {
		return out
	}
	out = s.expireOwn(s.request(protocol.MethodServerDiscover, nil, (*state).recheckUnanswered, out))
	s.conn.rechecking = s.conn.lastID
	return out
}

// recheckUnanswered: nothing came of the question, which says nothing. The next call that fails in that way asks again.
func (s *state) recheckUnanswered(_ time.Time, _ *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	s.conn.rechecking = 0
	return out
}

// rechecked takes the answer. Only a definite one changes the era: a server that is overloaded or ill is asked again when
// it matters.
func (s *state) rechecked(now time.Time, f *protocol.Frame, status int, out []kernel.Effect) []kernel.Effect {
	s.conn.rechecking = 0
	switch code, _ := protocol.ErrorNumber(f); {
	case judge(f).era == protocol.EraModern, code == codeHeaderMismatch, code == codeCapabilityRequired:
		return out
	case saysNothing(status), code == codeInternal && !s.mayHaveLeftEra(status):
		return out
	}
	return s.eraChanged(now, out)
}

// eraChanged: the server speaks another era than it did. It is opened again, and asked.
func (s *state) eraChanged(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.life.known = message.KnownEra{}
	return s.lose(now, "the server no longer speaks "+s.conn.info.Version, out)
}

// mayHaveLeftEra reports whether an HTTP status without a modern error may mean that the server has gone back to a legacy era.
func (s *state) mayHaveLeftEra(status int) bool {
	return s.conn.era == protocol.EraModern && status/100 == 4 && !saysNothing(status) // Rust's says 422, others 400, 404, 405
}
