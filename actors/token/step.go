package token

import (
	"slices"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// step applies msg to s at the time now and appends the effects to out. New secrets are reported before the other effects,
// so that they are redacted before a server could repeat them.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	from := len(out)
	out = s.handle(now, msg, out)
	secrets := s.record.secrets()
	if slices.Equal(secrets, s.secrets) {
		return out
	}
	was := s.secrets
	s.secrets = secrets
	return slices.Insert(out, from, kernel.Act(reportSecrets{secrets, was}))
}

// handle routes a message to its handler.
func (s *state) handle(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(now, out)
	case refused:
		return s.refused(now, m, out)
	case renewalDue, discovered, granted, message.TokenStored, storeTimedOut, message.TokenRead:
		return s.stepRenewal(now, m, out)
	case message.BeginLogin, begun, message.FinishLogin, redeemed, pollDue, polled, loginTimedOut:
		return s.stepLogin(now, m, out)
	case message.EndLogin:
		return s.logOut(now, m, out)
	case revoked:
		return s.logouts.revoked(m, out)
	case seen:
		return s.stepShare(now, m.Seen, out)
	case claim.Got, claim.Written, claim.Woken:
		return s.stepShare(now, m, out)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Stopping:
		return s.stopping(m.Reason, out)
	}
	return out
}

// stopping answers every pending request, since the actor stops or restarts.
func (s *state) stopping(reason string, out []kernel.Effect) []kernel.Effect {
	if reason == kernel.WhyRestarting {
		return s.endRequests(errRestarted, out)
	}
	if s.share != nil {
		out = append(out, kernel.Act(unwatchRecord{}))
	}
	return s.endRequests(errGone, out)
}

// endRequests answers every pending request. All pending logins and logouts end.
func (s *state) endRequests(err error, out []kernel.Effect) []kernel.Effect {
	out = s.refusals.denyAll(&Error{"renew the login", err, ""}, out)
	out = s.logins.complete(err, out)
	out = s.logouts.abandon(out)
	return s.logins.dropAll(err, out)
}
