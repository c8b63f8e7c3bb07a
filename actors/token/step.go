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

// step applies m to s at the time now and appends to out what is to be done about it. What has become secret by it is said first: it is known
// before anything is sent that a server could repeat.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	from := len(out)
	out = s.handle(now, msg, out)
	secrets := s.record.secrets()
	if slices.Equal(secrets, s.secrets) {
		return out
	}
	was := s.secrets
	s.secrets = secrets
	return slices.Insert(out, from, kernel.Act(tellSecrets{secrets, was}))
}

func (s *state) handle(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(now, out)
	case refused:
		return s.refused(now, m, out)
	case due:
		return s.due(now, m, out)
	case discovered:
		return s.discovered(now, m, out)
	case granted:
		return s.granted(now, m, out)
	case message.TokenStored:
		return s.tokenKept(now, m, out)
	case keptLate:
		return s.keptLate(now, m, out)
	case message.TokenRead:
		return s.tokenRead(now, m, out)
	case message.BeginLogin:
		return s.beginLogin(m, out)
	case begun:
		return s.begun(now, m, out)
	case message.FinishLogin:
		return s.finishLogin(m, out)
	case redeemed:
		return s.redeemed(now, m.number, m.token, m.err, out)
	case pollDue:
		return s.pollDue(m, out)
	case polled:
		return s.polled(now, m, out)
	case loginOver:
		return s.loginOver(m, out)
	case message.EndLogin:
		return s.endLogin(m, out)
	case revoked:
		return s.revoked(m, out)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Stopping:
		return s.stopping(out)
	}
	return out
}

// start takes up what the store had. After a restart nothing is under way any more.
func (s *state) start(now time.Time, out []kernel.Effect) []kernel.Effect {
	if len(s.kept) > 0 {
		known, ok := decode(s.kept, s.server, s.config)
		if !ok {
			out = append(out, kernel.Log(slog.LevelWarn, "what was remembered of a login is of another server or client, and is not used", "server", s.login.Entry))
		}
		s.record, s.kept = known, nil
	}
	s.phase, s.flight, s.reading, s.keeping = none, 0, false, 0
	out = s.forgetEndings(out)
	for _, p := range s.pending {
		p.asked = false
	}
	if s.record.Token.Access == "" {
		return out
	}
	if t := s.record.Token; s.canRenew() && !t.Expires.IsZero() && !now.Before(t.Expires) {
		return s.renew(out)
	}
	return s.publish(now, out)
}

// report is for people.
func (s *state) report() message.LoginReport {
	r := message.LoginReport{Login: s.login, Phase: string(s.phase), Scopes: s.record.Token.Scopes, Expires: s.record.Token.Expires, Pending: len(s.pending)}
	if s.record.Site != nil {
		r.Issuer = s.record.Site.Issuer
	}
	if s.fault != nil {
		r.Fault = s.fault.Error()
	}
	return r
}

// tell says what has become of the login, if that is new.
func (s *state) tell(p message.LoginPhase, reason string, out []kernel.Effect) []kernel.Effect {
	if s.told == p && !(p == message.LoginPresent && s.denied) { // who was denied waits for the word
		return out
	}
	s.told, s.denied = p, false
	return append(out, kernel.Tell(s.owner, message.LoginChanged{Login: s.login, Phase: p, Reason: reason}))
}

// deny answers a refused request that it is not worth sending again.
func (s *state) deny(to chan<- upstream.Verdict, why error, out []kernel.Effect) []kernel.Effect {
	s.denied = true
	if errors.Is(why, oauth.ErrNoLogin) {
		why = &noLoginError{why}
	}
	return append(out, kernel.Act(verdict{to, upstream.Verdict{Err: why}}))
}

// denyAll denies the requests that wait for a renewal.
func (s *state) denyAll(why error, out []kernel.Effect) []kernel.Effect {
	for _, to := range s.waiting {
		out = s.deny(to, why, out)
	}
	s.waiting = nil
	return out
}

// await has a refused request wait for the renewal.
func (s *state) await(to chan<- upstream.Verdict, out []kernel.Effect) []kernel.Effect {
	if len(s.waiting) >= waitAtMost {
		return s.deny(to, &Error{"renew the login", errors.New("too many requests wait for it"), ""}, out)
	}
	s.waiting = append(s.waiting, to)
	return out
}

// stopping answers everybody who waits.
func (s *state) stopping(out []kernel.Effect) []kernel.Effect {
	out = s.denyAll(&Error{"renew the login", errGone, ""}, out)
	out = s.answerFinishing(errGone, out)
	out = s.forgetEndings(out)
	return s.dropLogins(errGone, out)
}

// log writes a line about a fault, with what a person can do.
func (s *state) log(level slog.Level, text string, err error) kernel.Effect {
	args := []any{"server", s.login.Entry, "err", err}
	if hint := hintOf(err); hint != "" {
		args = append(args, "hint", hint)
	}
	return kernel.Log(level, text, args...)
}

// canRenew reports whether a new token can be had without a person.
func (s *state) canRenew() bool {
	return s.robot || s.record.Token.Refresh != ""
}
