package token

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// statusForbidden is the HTTP status for a token that lacks scopes. Other refusals have status 401.
const statusForbidden = 403

// insufficientScope is the challenge's error for a token that lacks scopes. Without a token, it also means that the server requires
// one.
const insufficientScope = "insufficient_scope"

// refused decides about a request that the server refused because of its credentials: it is retried, waits for a
// renewal or a discovery, or fails.
func (s *state) refused(now time.Time, m refused, out []kernel.Effect) []kernel.Effect {
	if s.current != nil && m.sent != s.current.authorization { // a newer token exists
		return append(out, kernel.Act(verdict{to: m.reply, what: upstream.Verdict{Again: true}}))
	}
	challenge := oauth.ParseChallenge(m.challenges)
	if m.status == statusForbidden && (s.current != nil || challenge.Error != insufficientScope) {
		return s.lacksScopes(now, m, challenge, out)
	}
	challenge.Bearer = challenge.Scheme == "" // HTTP 401 (Unauthorized) without a challenge also requires a bearer token
	s.demand.challenge, s.demand.hasChallenge = challenge, true
	r := &s.renewal
	switch {
	case s.busy(), s.current == nil && s.share.isOpening():
		return s.refusals.await(m.reply, out)
	case s.current == nil && s.share.isUnreachable():
		return s.refusals.deny(m.reply, s.share.unavailable(), s.announceUnavailable(s.share.unavailable(), out))
	case s.phase == needsLogin && (r.retryAt.IsZero() || now.Before(r.retryAt)):
		return s.refusals.deny(m.reply, r.fault, out)
	case s.phase == none || s.phase == needsLogin:
		return s.firstRefusal(now, m, out)
	case s.phase == stale && now.Before(r.retryAt):
		return s.refusals.deny(m.reply, &Error{"renew the login", r.fault, ""}, s.announceUnavailable(r.fault, out))
	}
	return s.forceRenewal(now, m, out)
}

// firstRefusal handles a refusal when there is no token: it requests one with client credentials, or discovers where a
// person logs in.
func (s *state) firstRefusal(now time.Time, m refused, out []kernel.Effect) []kernel.Effect {
	out = s.refusals.await(m.reply, out)
	if s.clientCredentials || s.share.isUnusable() { // the record is read again
		return s.renew(now, out)
	}
	s.phase = discovering
	return append(out, kernel.Act(discover{s.renewal.begin(&s.requests), s.demand.challenge}))
}

// forceRenewal renews a token that was refused. A login that cannot be renewed ends. After maxForced consecutive
// renewals, requests are denied until forcedWithin has passed since the last one.
func (s *state) forceRenewal(now time.Time, m refused, out []kernel.Effect) []kernel.Effect {
	if !s.canRenew() {
		return s.needLogin(errNoRefresh, s.refusals.await(m.reply, out))
	}
	if !s.renewal.mayForce(now) {
		if !s.renewal.looped {
			s.renewal.looped = true
			out = s.renewal.wakeAfter(forcedWithin, out)
		}
		return s.refusals.deny(m.reply, errLoop, out)
	}
	return s.renew(now, s.refusals.await(m.reply, out))
}

// lacksScopes handles a token that lacks scopes. With client credentials, the actor requests a token with more scopes.
// Otherwise a person has to consent to the additional scopes. After maxStepUps such steps, or if the server does not
// report missing scopes, the request fails.
func (s *state) lacksScopes(now time.Time, m refused, c oauth.Challenge, out []kernel.Effect) []kernel.Effect {
	if c.Error != insufficientScope {
		return append(out, kernel.Act(verdict{to: m.reply}))
	}
	err := &Error{fmt.Sprintf("use scopes %q", strings.Join(c.Scopes, " ")), ErrScope, ""}
	wider := hasMore(s.record.Asked, c.Scopes) && s.demand.stepUps < maxStepUps
	switch {
	case !wider:
		return s.refusals.deny(m.reply, err, out)
	case !s.clientCredentials:
		s.demand.scopes = oauth.Union(s.demand.scopes, c.Scopes)
		err.hint = "run goblin-actor login " + s.login.Entry + " and consent to the additional scopes"
		return s.refusals.deny(m.reply, err, out)
	}
	out = s.refusals.await(m.reply, out)
	if !s.busy() {
		s.demand.stepUps++
		s.record.Asked = oauth.Union(s.record.Asked, c.Scopes)
	}
	return s.renew(now, out)
}
