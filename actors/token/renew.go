package token

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// stepRenewal handles the messages about a renewal.
func (s *state) stepRenewal(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case renewalDue:
		if m.timer == s.renewal.timer && (s.phase == fresh || s.phase == stale) && s.canRenew() {
			return s.renew(now, out)
		}
	case discovered:
		return s.discovered(now, m, out)
	case granted:
		return s.granted(now, m, out)
	case message.TokenStored:
		return s.tokenStored(now, m, out)
	case storeTimedOut:
		return s.storeTimedOut(now, m, out)
	case message.TokenRead:
		return s.tokenRead(now, m, out)
	}
	return out
}

// renew requests a new token, unless a renewal is in progress.
func (s *state) renew(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.busy() {
		return out
	}
	if s.share != nil {
		s.phase, s.share.writing = refreshing, true
		return s.perform(now, s.share.claims.Want(now, nil), out)
	}
	number := s.renewal.begin(&s.requests)
	switch {
	case s.clientCredentials && s.record.Site == nil:
		s.phase = discovering
		return append(out, kernel.Act(discover{number, s.demand.challenge}))
	case s.clientCredentials:
		s.phase = refreshing
		return append(out, kernel.Act(credentials{number, s.record.Site, oauth.Union(s.record.Asked, s.record.Site.Scopes)}))
	}
	s.phase = refreshing
	return append(out, kernel.Act(refresh{number, s.record.Site, s.record.Client, s.record.Token, time.Time{}}))
}

// discovered handles the end of a discovery.
func (s *state) discovered(now time.Time, m discovered, out []kernel.Effect) []kernel.Effect {
	if m.number != s.renewal.request {
		return out
	}
	s.renewal.request = 0
	switch {
	case m.err != nil && s.clientCredentials:
		return s.renewalFailed(now, m.err, out)
	case m.err != nil:
		s.renewal.retryAt = now.Add(discoveryInterval)
		return s.needLogin(&Error{"discover the authorization server", m.err, ""}, out)
	}
	s.record.Server, s.record.Site = s.server, m.site
	if s.clientCredentials {
		return s.renew(now, out)
	}
	return s.needLogin(&Error{"log in", ErrNeedsLogin, "run goblin-actor login " + s.login.Entry}, out)
}

// granted handles the authorization server's response to a renewal.
func (s *state) granted(now time.Time, m granted, out []kernel.Effect) []kernel.Effect {
	if m.number != s.renewal.request {
		return s.logouts.receivedLate(&s.requests, m.number, m.token, m.err, out)
	}
	s.renewal.request = 0
	switch {
	case s.share != nil:
		return s.grantedShared(now, m, out)
	case m.err == nil:
		s.renewal.adopted = 0
		next := s.record
		next.Server, next.Token = s.server, m.token
		return s.accept(now, next, out)
	case oauth.GrantEnded(m.err) && !s.clientCredentials:
		s.renewal.reading, s.renewal.fault = true, m.err
		return append(out, kernel.Tell(s.store, message.ReadToken{Key: s.key, From: s.self}))
	}
	return s.renewalFailed(now, m.err, out)
}

// accept adopts a new login or token. If the refresh token is new, or a person waits for the login, the token is used
// only after the store has written it, has failed to, or has timed out: the person may stop the gateway as soon as the
// login has succeeded.
func (s *state) accept(now time.Time, next record, out []kernel.Effect) []kernel.Effect {
	if s.share != nil {
		return s.acceptShared(now, next, out)
	}
	rotated := next.Token.Refresh != "" && next.Token.Refresh != s.record.Token.Refresh
	s.record, s.phase = next, refreshing
	if !rotated && len(s.logins.completing) == 0 {
		return s.publish(now, append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: next.encode()})))
	}
	s.renewal.storing, out = s.storeToken(next.encode(), out)
	return out
}

// storeToken makes the store write the value, or remove the login if the value is nil, and report the result. It returns
// the number of the request.
func (s *state) storeToken(value message.Token, out []kernel.Effect) (uint64, []kernel.Effect) {
	number := s.requests.next()
	remember := message.RememberToken{Key: s.key, Value: value, From: s.self, Number: number}
	return number, append(out, kernel.Tell(s.store, remember), kernel.WakeAfter(storeTimeout, storeTimedOut{number}))
}

// tokenStored publishes the token that the store has written. A token that could not be written is published too, since
// its predecessor may no longer be valid. The store's answer to a logout is passed on to it.
func (s *state) tokenStored(now time.Time, m message.TokenStored, out []kernel.Effect) []kernel.Effect {
	if m.Number == 0 || m.Number != s.renewal.storing {
		return s.logouts.forgotten(m.Number, m.Err, out)
	}
	s.renewal.storing = 0
	if m.Err != "" {
		out = append(out, kernel.Log(slog.LevelWarn, "login not saved; log in again after the next restart", "server", s.login.Entry, "err", m.Err))
	}
	return s.publish(now, out)
}

// storeTimedOut continues although the store has not answered within storeTimeout.
func (s *state) storeTimedOut(now time.Time, m storeTimedOut, out []kernel.Effect) []kernel.Effect {
	if m.number != s.renewal.storing {
		return s.logouts.forgotten(m.number, "writing the state file timed out", out)
	}
	s.renewal.storing = 0
	out = append(out, kernel.Log(slog.LevelWarn, "writing the state file timed out; the login may not be saved", "server", s.login.Entry))
	return s.publish(now, out)
}

// publish makes the new token available to connections, answers everything that waited for the token, and schedules the
// next renewal.
func (s *state) publish(now time.Time, out []kernel.Effect) []kernel.Effect {
	t := s.record.Token
	s.current, s.phase = &current{"Bearer " + t.Access}, fresh
	s.renewal.succeeded(now)
	out = append(out, kernel.Act(publish{s.current}))
	out = s.announce(message.LoginPresent, "", out) // before the answers, since a caller may send its next call at once
	out = s.refusals.retryAll(out)
	out = s.logins.complete(nil, out)
	if t.Expires.IsZero() || !s.canRenew() {
		s.renewal.unschedule()
		return out
	}
	return s.renewal.wakeAfter(renewAfter(now, t, s.rng.Float64()), out)
}

// renewalFailed handles a failure that does not prove the old token invalid. The old token, if any, stays in use and the
// renewal is retried.
func (s *state) renewalFailed(now time.Time, err error, out []kernel.Effect) []kernel.Effect {
	s.phase = stale
	if oauth.ClientUnknown(err) {
		s.record.forget(s.record.Client)
	}
	pause := s.renewal.failed(now, err, s.rng.Float64())
	if _, is := errors.AsType[recordError](err); is && pause > sharePause {
		pause = sharePause
		s.renewal.retryAt = now.Add(pause)
	}
	if s.renewal.failures == 1 || pause >= backoffMax/2 {
		out = append(out, s.log(slog.LevelWarn, "login renewal failed; retrying", err))
	}
	if len(s.refusals.waiting) > 0 {
		out = s.announceUnavailable(err, out)
	}
	out = s.refusals.denyAll(&Error{"renew the login", err, ""}, out)
	return s.renewal.wakeAfter(pause, out)
}

// tokenRead handles the stored login, which is read after the authorization server has ended the current one. If another
// process has renewed the login, its login is adopted.
func (s *state) tokenRead(now time.Time, m message.TokenRead, out []kernel.Effect) []kernel.Effect {
	if !s.renewal.reading || m.Key != s.key {
		return out
	}
	s.renewal.reading = false
	other, ok := decode(m.Value, s.server, s.config)
	mine := s.record.Token
	if !ok || m.Err != "" || other.Token.Access == "" || other.Token.Refresh == mine.Refresh || s.renewal.adopted >= maxAdopted {
		return s.needLogin(&Error{"renew the login", errors.Join(ErrNeedsLogin, s.renewal.fault), "run goblin-actor login " + s.login.Entry}, out)
	}
	s.renewal.adopted++
	s.record = other
	if other.Token.Access != mine.Access && (other.Token.Expires.IsZero() || now.Before(other.Token.Expires)) {
		return s.publish(now, out)
	}
	return s.renew(now, out)
}

// needLogin removes the login, if there is one, and denies the waiting requests. A person has to log in.
func (s *state) needLogin(why *Error, out []kernel.Effect) []kernel.Effect {
	if s.record.Token.Access != "" {
		s.record = s.record.without()
		out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: s.record.encode()}), s.log(slog.LevelWarn, "login ended", why))
	}
	s.phase, s.current = needsLogin, nil
	s.renewal.fault, s.renewal.adopted, s.renewal.forced = why, 0, 0
	s.renewal.unschedule()
	out = append(out, kernel.Act(publish{}))
	out = s.refusals.denyAll(why, out)
	return s.announce(message.LoginNeeded, why.Error(), out)
}

// log returns the effect that logs an error, with a hint if there is one.
func (s *state) log(level slog.Level, text string, err error) kernel.Effect {
	args := []any{"server", s.login.Entry, "err", err}
	if hint := hintOf(err); hint != "" {
		args = append(args, "hint", hint)
	}
	return kernel.Log(level, text, args...)
}

// hasMore reports whether the list want contains scopes that are not in the list have.
func hasMore(have, want []string) bool {
	return slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}
