package backend

import (
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// loginReason returns why a login is needed, for clients and operators.
func loginReason(err error) string { return strings.TrimPrefix(err.Error(), "log in: ") }

// loginRefused handles a request that the server refused because of its credentials, without executing it. A call
// returns to the pool, which knows how its client can log in, or fails if an earlier request of the call was executed.
// Other running calls were accepted and continue. If none is left and more than a scope is missing, the connection is
// closed until a login arrives.
func (s *state) loginRefused(now time.Time, id uint32, scope bool, reason string, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[id]
	switch {
	case p.own != nil && (s.starting() || !scope && len(s.conn.byCall) == 0):
		return s.retreat(now, message.NeedsLogin, reason, out)
	case p.own != nil:
		return s.fail(now, id, protocol.NeedsLogin, reason, out)
	case p.round != nil || p.followed != nil: // the server has begun to execute the call (it asked for input or created a task), so the call cannot be sent again
		out = s.fail(now, id, protocol.NeedsLogin, reason, out)
	default:
		out = s.declineQuestions(id, out)
		s.remove(id, p)
		out = append(out, kernel.Tell(s.pool, message.NotExecuted{
			Backend: s.self, Call: p.call, Request: p.request, Reason: reason, Login: &message.LoginRefused{Reason: reason, Scope: scope, None: s.life.noLogin},
		}))
	}
	if !scope && len(s.conn.byCall) == 0 && s.life.phase == message.Ready {
		return s.retreat(now, message.NeedsLogin, reason, out)
	}
	return s.stopWhenDrained(now, out)
}

// loggedIn requests a connection if the backend waits for a login.
func (s *state) loggedIn(out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.NeedsLogin || s.life.connectRequested {
		return out
	}
	s.life.failures = 0
	return s.requestConnect(out)
}

// loggedOut closes a connection whose login has ended.
func (s *state) loggedOut(now time.Time, m message.LoggedOut, out []kernel.Effect) []kernel.Effect {
	if !s.starting() && s.life.phase != message.Ready {
		return out
	}
	return s.retreat(now, message.NeedsLogin, m.Reason, out)
}
