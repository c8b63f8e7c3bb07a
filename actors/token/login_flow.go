package token

import (
	"errors"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// stepLogin handles the messages about logins that people have begun.
func (s *state) stepLogin(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.BeginLogin:
		return s.beginLogin(m, out)
	case begun:
		return s.begun(now, m, out)
	case message.FinishLogin:
		return s.finishLogin(m, out)
	case redeemed:
		return s.redeemed(now, m.number, m.token, m.err, out)
	case pollDue:
		return s.poll(m.number, out)
	case polled:
		return s.polled(now, m, out)
	case loginTimedOut:
		return s.loginTimedOut(m.number, out)
	}
	return out
}

// beginLogin begins a person's login at the authorization server, or refuses it.
func (s *state) beginLogin(m message.BeginLogin, out []kernel.Effect) []kernel.Effect {
	if s.clientCredentials {
		return append(out, kernel.Act(started{m.Reply, message.LoginStarted{Err: errors.New("users cannot log in to this server, because the gateway uses client credentials"), Hint: "set the server's auth.type to oauth or, if it is oauth already, auth.catalogAs to shared"}}))
	}
	if len(s.logins.pending) >= maxLogins {
		return append(out, kernel.Act(started{m.Reply, message.LoginStarted{Err: ErrTooMany}}))
	}
	if oldest := s.logins.displaced(m.Who); oldest != 0 {
		out = s.cancelLogin(oldest, ErrOvertaken, out)
	}
	number := s.requests.next()
	s.logins.pending[number] = &pendingLogin{who: m.Who, reply: m.Reply, device: m.Device, stepUp: len(s.demand.scopes) > 0}
	b := begin{
		number: number, challenge: s.demand.challenge, hasChallenge: s.demand.hasChallenge, scopes: oauth.Union(s.record.Asked, s.demand.scopes),
		redirect: m.RedirectURI, device: m.Device, known: s.record.Clients,
	}
	return append(out, kernel.Act(b), kernel.WakeAfter(loginTimeout, loginTimedOut{number}))
}

// begun answers BeginLogin: the login continues in the browser, or it has failed. If the login was canceled in the
// meantime, begun only returns it to the budget.
func (s *state) begun(now time.Time, m begun, out []kernel.Effect) []kernel.Effect {
	p := s.logins.pending[m.number]
	if p == nil {
		if m.taken {
			out = append(out, kernel.Act(release{1}))
		}
		return out
	}
	p.taken = m.taken
	if m.err != nil {
		return s.logins.drop(m.number, m.err, out)
	}
	s.record.Server = s.server
	s.record.register(m.login.Client)
	p.login = m.login
	answer := message.LoginStarted{State: m.login.State, URL: m.login.URL, Issuer: m.login.Site.Issuer, Expires: now.Add(loginTimeout)}
	if m.device != nil {
		p.interval = m.device.Interval
		answer.URL, answer.Complete, answer.UserCode = m.device.URL, m.device.Complete, m.device.UserCode
		if m.device.Expires.Before(answer.Expires) {
			answer.Expires = m.device.Expires
		}
		out = append(out, kernel.WakeAfter(p.interval, pollDue{m.number}))
	}
	out = append(out, kernel.Act(started{p.reply, answer}))
	p.reply = nil
	return out
}

// finishLogin handles the parameters that the browser sent to the redirect URI. For a device login, it records that a
// caller waits for the end. A login accepts one answer, and only from the principal that began it: an attacker may
// open the login page in a victim's browser, or send an answer of their own.
func (s *state) finishLogin(m message.FinishLogin, out []kernel.Effect) []kernel.Effect {
	number, p := s.logins.find(m.State)
	switch {
	case p == nil || p.answered:
		return append(out, kernel.Act(finished{m.Reply, oauth.ErrState}))
	case p.who != m.Who:
		out = append(out, kernel.Act(finished{m.Reply, oauth.ErrState}))
		return s.cancelLogin(number, oauth.ErrState, out)
	}
	p.answered, p.finish = true, m.Reply
	if p.device {
		return out
	}
	p.redeeming = true
	answer := oauth.AuthResponse{State: m.State, Code: m.Code, Issuer: m.Issuer, Error: m.Error, Description: m.Description}
	return append(out, kernel.Act(redeem{number, p.login, answer}))
}

// redeemed handles the token, or the error, with which a person's login ends.
func (s *state) redeemed(now time.Time, number uint64, token oauth.Token, err error, out []kernel.Effect) []kernel.Effect {
	p := s.logins.pending[number]
	if p == nil { // it timed out, was replaced, canceled or ended
		return s.logouts.receivedLate(&s.requests, number, token, err, out)
	}
	if p.finish == nil {
		out = append(out, kernel.Act(unawaited{p.who, err}))
	}
	if err != nil {
		if oauth.ClientUnknown(err) {
			s.record.forget(p.login.Client)
		}
		return s.logins.drop(number, err, out)
	}
	next := record{Server: s.server, Site: p.login.Site, Client: p.login.Client, Token: token, Asked: p.login.Scopes, Clients: s.record.Clients}
	if p.finish != nil {
		s.logins.completing = append(s.logins.completing, p.finish)
		p.finish = nil
	}
	if s.demand.stepUps++; !p.stepUp {
		s.demand.stepUps = 0
	}
	s.demand.scopes = nil
	out = s.logins.drop(number, nil, out)
	r := &s.renewal
	r.request, r.reading, r.forced, r.adopted = 0, false, 0, 0 // the result of a renewal of the previous login is to be ignored
	return s.accept(now, next, out)
}

// poll asks the authorization server whether a person has completed a device login.
func (s *state) poll(number uint64, out []kernel.Effect) []kernel.Effect {
	p := s.logins.pending[number]
	if p == nil || p.login == nil {
		return out
	}
	p.redeeming = true
	return append(out, kernel.Act(poll{number, p.login}))
}

// polled handles the authorization server's response about a device login.
func (s *state) polled(now time.Time, m polled, out []kernel.Effect) []kernel.Effect {
	p := s.logins.pending[m.number]
	if p == nil {
		return s.logouts.receivedLate(&s.requests, m.number, m.token, m.err, out)
	}
	p.redeeming = false
	switch {
	case errors.Is(m.err, oauth.ErrSlowDown):
		p.interval += 5 * time.Second
	case !errors.Is(m.err, oauth.ErrPending) && !oauth.Temporary(m.err):
		return s.redeemed(now, m.number, m.token, m.err, out)
	}
	return append(out, kernel.WakeAfter(p.interval, pollDue{m.number}))
}

// loginTimedOut ends a login that took too long. A login whose code is being redeemed may still complete.
func (s *state) loginTimedOut(number uint64, out []kernel.Effect) []kernel.Effect {
	p := s.logins.pending[number]
	if p == nil || p.answered && !p.device {
		return out
	}
	if p.login != nil { // the authorization server may no longer know the client; it then shows the person an error page and does not redirect
		s.record.forget(p.login.Client)
	}
	return s.cancelLogin(number, ErrExpired, out)
}

// cancelLogin ends a pending login with err. If a request for its token is in progress, the token is revoked when it
// arrives.
func (s *state) cancelLogin(number uint64, err error, out []kernel.Effect) []kernel.Effect {
	if p := s.logins.pending[number]; p.redeeming {
		s.logouts.expect(&logout{}, number, p.login.Site, p.login.Client)
	}
	return s.logins.drop(number, err, out)
}
