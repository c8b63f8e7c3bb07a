package token

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// renew gets a new token, unless one is under way.
func (s *state) renew(out []kernel.Effect) []kernel.Effect {
	if s.busy() {
		return out
	}
	s.number++
	s.flight = s.number
	switch {
	case s.robot && s.record.Site == nil:
		s.phase = discovering
		return append(out, kernel.Act(discover{s.flight, s.challenge}))
	case s.robot:
		s.phase = refreshing
		return append(out, kernel.Act(credentials{s.flight, s.record.Site, oauth.Union(s.record.Asked, s.record.Site.Scopes)}))
	}
	s.phase = refreshing
	return append(out, kernel.Act(refresh{s.flight, s.record.Site, s.record.Client, s.record.Token}))
}

// busy reports whether the login is being renewed or found out about.
func (s *state) busy() bool { return s.flight != 0 || s.reading || s.keeping != 0 }

// due renews ahead of time, or once more after a fault.
func (s *state) due(_ time.Time, m due, out []kernel.Effect) []kernel.Effect {
	if m.timer != s.timer || s.phase != fresh && s.phase != stale || !s.canRenew() {
		return out
	}
	return s.renew(out)
}

// wakeAfter has the next renewal begin, in place of what was planned.
func (s *state) wakeAfter(d time.Duration, out []kernel.Effect) []kernel.Effect {
	s.timer++
	return append(out, kernel.WakeAfter(d, due{s.timer}))
}

// discovered: it is known where to log in, or why not.
func (s *state) discovered(now time.Time, m discovered, out []kernel.Effect) []kernel.Effect {
	if m.number != s.flight {
		return out
	}
	s.flight = 0
	switch {
	case m.err != nil && s.robot:
		return s.failed(now, m.err, out)
	case m.err != nil:
		s.retryAt = now.Add(discoverAtLeast)
		return s.needLogin(&Error{"find out where to log in", m.err, ""}, out)
	}
	s.record.Server, s.record.Site = s.server, m.site
	if s.robot {
		return s.renew(out)
	}
	return s.needLogin(&Error{"log in", ErrNeedsLogin, "goblin-actor login " + s.login.Entry}, out)
}

// granted: the authorization server has answered.
func (s *state) granted(now time.Time, m granted, out []kernel.Effect) []kernel.Effect {
	if m.number != s.flight {
		return s.cameLate(m.number, m.token, m.err, out)
	}
	s.flight = 0
	switch {
	case m.err == nil:
		s.adopted = 0
		next := s.record
		next.Server, next.Token = s.server, m.token
		return s.accept(now, next, out)
	case oauth.Ended(m.err) && !s.robot:
		s.reading, s.fault = true, m.err
		return append(out, kernel.Tell(s.store, message.ReadToken{Key: s.key, From: s.self}))
	}
	return s.failed(now, m.err, out)
}

// accept takes a new login or token. One that took the place of a refresh token, or whose person waits, is used when it is on disk: whoever
// is told that he is logged in may end the gateway.
func (s *state) accept(now time.Time, next record, out []kernel.Effect) []kernel.Effect {
	rotated := next.Token.Refresh != "" && next.Token.Refresh != s.record.Token.Refresh
	s.record, s.phase = next, refreshing
	if !rotated && len(s.finishing) == 0 {
		return s.publish(now, append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: next.encode()})))
	}
	s.keeping, out = s.keep(next.encode(), out)
	return out
}

// keep has the store remember a value, nil = forget it, and say when that is on disk. It returns the number of what it answers.
func (s *state) keep(value message.Token, out []kernel.Effect) (uint64, []kernel.Effect) {
	s.number++
	remember := message.RememberToken{Key: s.key, Value: value, From: s.self, Number: s.number}
	return s.number, append(out, kernel.Tell(s.store, remember), kernel.WakeAfter(keepAtMost, keptLate{s.number}))
}

// tokenKept: the token may be used. If it is not on disk it is used, too: the one before it is worth nothing any more.
func (s *state) tokenKept(now time.Time, m message.TokenStored, out []kernel.Effect) []kernel.Effect {
	if m.Number == 0 || m.Number != s.keeping {
		return s.forgotten(m.Number, m.Err, out)
	}
	s.keeping = 0
	if m.Err != "" {
		out = append(out, kernel.Log(slog.LevelWarn, "a login is not kept on disk: after a restart somebody has to log in again", "server", s.login.Entry, "err", m.Err))
	}
	return s.publish(now, out)
}

// keptLate goes on without the store.
func (s *state) keptLate(now time.Time, m keptLate, out []kernel.Effect) []kernel.Effect {
	if m.number != s.keeping {
		return s.forgotten(m.number, "the state file does not answer", out)
	}
	s.keeping = 0
	out = append(out, kernel.Log(slog.LevelWarn, "the state file does not answer: a login is used that may not be on disk", "server", s.login.Entry))
	return s.publish(now, out)
}

// publish has links send the token of now, and answers everybody who waited for it.
func (s *state) publish(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := s.record.Token
	s.current, s.since = &current{"Bearer " + t.Access}, now
	s.phase, s.failures, s.fault, s.retryAt, s.looped = fresh, 0, nil, time.Time{}, false
	out = append(out, kernel.Act(publish{s.current}))
	out = s.tell(message.LoginPresent, "", out) // before the answers: whoever gets one may call at once
	for _, to := range s.waiting {
		out = append(out, kernel.Act(verdict{to: to, what: upstream.Verdict{Again: true}}))
	}
	s.waiting = nil
	out = s.answerFinishing(nil, out)
	if t.Expires.IsZero() || !s.canRenew() {
		s.timer++
		return out
	}
	return s.wakeAfter(s.ahead(now, t), out)
}

// ahead is how long the token is good enough: 70 to 80 % of its life, not the same for all.
func (s *state) ahead(now time.Time, t oauth.Token) time.Duration {
	life := t.Expires.Sub(t.Got)
	share := 0.8 - 0.1*s.rng.Float64()
	at := t.Got.Add(time.Duration(float64(life) * share))
	return max(at.Sub(now), min(renewAtLeast, time.Duration(float64(life)*share)))
}

// failed: there is no new token, and it is not known that the old one is over. It is used on.
func (s *state) failed(now time.Time, err error, out []kernel.Effect) []kernel.Effect {
	s.failures++
	s.phase, s.fault = stale, err
	if oauth.Unknown(err) {
		s.record.forget(s.record.Client)
	}
	s.forced = max(0, s.forced-1) // there was no new token to refuse
	pause := backoffAtMost
	if oauth.Temporary(err) {
		pause = min(backoffFirst<<min(s.failures-1, 16), backoffAtMost)
	}
	pause -= time.Duration(float64(pause) / 2 * s.rng.Float64())
	s.retryAt = now.Add(pause)
	if s.failures == 1 || pause >= backoffAtMost/2 {
		out = append(out, s.log(slog.LevelWarn, "a login could not be renewed; it is tried again", err))
	}
	out = s.denyAll(&Error{"renew the login", err, ""}, out)
	return s.wakeAfter(pause, out)
}

// tokenRead: what another process may have made of the login that is over for us.
func (s *state) tokenRead(now time.Time, m message.TokenRead, out []kernel.Effect) []kernel.Effect {
	if !s.reading || m.Key != s.key {
		return out
	}
	s.reading = false
	other, ok := decode(m.Value, s.server, s.config)
	mine := s.record.Token
	if !ok || m.Err != "" || other.Token.Access == "" || other.Token.Refresh == mine.Refresh || s.adopted >= adoptAtMost {
		return s.needLogin(&Error{"renew the login", errors.Join(ErrNeedsLogin, s.fault), "goblin-actor login " + s.login.Entry}, out)
	}
	s.adopted++
	s.record = other
	if other.Token.Access != mine.Access && (other.Token.Expires.IsZero() || now.Before(other.Token.Expires)) {
		return s.publish(now, out)
	}
	return s.renew(out)
}

// needLogin: a person has to do something. What there was of a login is forgotten.
func (s *state) needLogin(why *Error, out []kernel.Effect) []kernel.Effect {
	if s.record.Token.Access != "" {
		s.record = s.record.without()
		out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: s.record.encode()}), s.log(slog.LevelWarn, "a login is over", why))
	}
	s.phase, s.fault, s.current, s.adopted, s.forced = needsLogin, why, nil, 0, 0
	s.timer++
	out = append(out, kernel.Act(publish{}))
	out = s.denyAll(why, out)
	return s.tell(message.LoginNeeded, why.Error(), out)
}

// further reports whether want holds scopes that have does not.
func further(have, want []string) bool {
	return slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}
