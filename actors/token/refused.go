package token

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// forbidden is the status of HTTP for a token that does not reach far enough; what else is refused is 401.
const forbidden = 403

// refused decides what becomes of a request that the server refused for its credentials.
func (s *state) refused(now time.Time, m refused, out []kernel.Effect) []kernel.Effect {
	if s.current != nil && m.sent != s.current.authorization {
		return append(out, kernel.Act(verdict{to: m.reply, what: upstream.Verdict{Again: true}})) // there is a newer one
	}
	challenge := oauth.ParseChallenge(m.challenges)
	if m.status == forbidden {
		return s.insufficient(m, challenge, out)
	}
	challenge.Bearer = challenge.Scheme == "" // a 401 without a challenge asks for a bearer token, too
	s.challenge, s.heard = challenge, true
	switch {
	case s.busy():
		return s.await(m.reply, out)
	case s.phase == needsLogin && (s.retryAt.IsZero() || now.Before(s.retryAt)):
		return s.deny(m.reply, s.fault, out)
	case s.phase == none || s.phase == needsLogin:
		return s.first(m, out)
	case s.phase == stale && now.Before(s.retryAt):
		return s.deny(m.reply, &Error{"renew the login", s.fault, ""}, out)
	}
	return s.force(now, m, out)
}

// first is the first refusal: it has to be found out where to log in.
func (s *state) first(m refused, out []kernel.Effect) []kernel.Effect {
	out = s.await(m.reply, out)
	if s.robot {
		return s.renew(out)
	}
	s.number++
	s.flight, s.phase = s.number, discovering
	return append(out, kernel.Act(discover{s.flight, s.challenge}))
}

// force renews a token that was refused before its time. If that happens to the new ones as well, no token helps.
func (s *state) force(now time.Time, m refused, out []kernel.Effect) []kernel.Effect {
	if !s.canRenew() {
		return s.needLogin(errNoRefresh, s.await(m.reply, out))
	}
	if now.Sub(s.since) >= forcedWithin {
		s.forced = 0
	}
	if s.forced >= forcedAtMost {
		if !s.looped {
			s.looped = true
			out = s.wakeAfter(forcedWithin, out)
		}
		return s.deny(m.reply, errLoop, out)
	}
	s.forced++
	return s.renew(s.await(m.reply, out))
}

// insufficient: the token does not reach far enough. A robot asks for one that reaches further, a person has to agree.
func (s *state) insufficient(m refused, c oauth.Challenge, out []kernel.Effect) []kernel.Effect {
	if c.Error != "insufficient_scope" {
		return append(out, kernel.Act(verdict{to: m.reply}))
	}
	err := &Error{fmt.Sprintf("use the scopes %q", strings.Join(c.Scopes, " ")), ErrScope, ""}
	wider := further(s.record.Asked, c.Scopes) && s.steps < stepsAtMost
	switch {
	case s.current == nil:
		return s.deny(m.reply, errNoRefresh, out)
	case !wider:
		return s.deny(m.reply, err, out)
	case !s.robot:
		s.more = oauth.Union(s.more, c.Scopes)
		err.hint = "goblin-actor login " + s.login.Entry + ", and agree to the further scopes"
		return s.deny(m.reply, err, out)
	}
	out = s.await(m.reply, out)
	if !s.busy() {
		s.steps++
		s.record.Asked = oauth.Union(s.record.Asked, c.Scopes)
	}
	return s.renew(out)
}
