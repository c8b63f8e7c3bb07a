package backend

import (
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// loginReason is what clients and people are told of a refusal.
func loginReason(err error) string { return strings.TrimPrefix(err.Error(), "log in: ") }

// loginRefused: the server wants other credentials than there are, and has not executed the request. A call goes back to the pool, which knows how
// its client could be led to a login. What else runs has been let in, and may end as it likes.
func (s *state) loginRefused(now time.Time, id uint32, scope bool, reason string, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[id]
	switch {
	case p.own != nil && (s.starting() || !scope && len(s.conn.byCall) == 0):
		return s.retreat(now, message.NeedsLogin, reason, out)
	case p.own != nil:
		return s.fail(now, id, protocol.NeedsLogin, reason, out)
	case p.round != nil || p.followed != nil: // its client has answered, or it was executed: it cannot begin anew
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

// loggedIn connects, if a login was all that was missing.
func (s *state) loggedIn(out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.NeedsLogin || s.life.wants {
		return out
	}
	s.life.failures = 0
	return s.wantStart(out)
}

// loggedOut ends a connection whose login is no more.
func (s *state) loggedOut(now time.Time, m message.LoggedOut, out []kernel.Effect) []kernel.Effect {
	if !s.starting() && s.life.phase != message.Ready {
		return out
	}
	return s.retreat(now, message.NeedsLogin, m.Reason, out)
}
