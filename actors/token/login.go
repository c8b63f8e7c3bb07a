package token

import (
	"crypto/subtle"
	"errors"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// beginLogin begins a login of a person.
func (s *state) beginLogin(m message.BeginLogin, out []kernel.Effect) []kernel.Effect {
	if s.robot {
		return append(out, kernel.Act(started{m.Reply, message.LoginStarted{Err: errors.New("nobody logs in at this server: the gateway does, by client credentials"), Hint: "change auth.type of the server if that is not meant"}}))
	}
	if len(s.pending) >= mostOfAll {
		return append(out, kernel.Act(started{m.Reply, message.LoginStarted{Err: ErrTooMany}}))
	}
	out = s.makeRoom(m.Who, out)
	s.number++
	s.pending[s.number] = &pending{who: m.Who, reply: m.Reply, device: m.Device, step: len(s.more) > 0}
	b := begin{
		number: s.number, challenge: s.challenge, heard: s.heard, scopes: oauth.Union(s.record.Asked, s.more),
		redirect: m.RedirectURI, device: m.Device, known: s.record.Clients,
	}
	return append(out, kernel.Act(b), kernel.WakeAfter(loginLasts, loginOver{s.number}))
}

// makeRoom ends the oldest login under way of somebody who has too many.
func (s *state) makeRoom(who string, out []kernel.Effect) []kernel.Effect {
	var own []uint64
	for _, n := range slices.Sorted(maps.Keys(s.pending)) {
		if s.pending[n].who == who {
			own = append(own, n)
		}
	}
	if len(own) < mostOfOne {
		return out
	}
	return s.drop(own[0], ErrOvertaken, out)
}

// drop ends a login under way; whoever waits for it is told err, nil = that it is there.
func (s *state) drop(number uint64, err error, out []kernel.Effect) []kernel.Effect {
	p := s.pending[number]
	delete(s.pending, number)
	if p.reply != nil {
		out = append(out, kernel.Act(started{p.reply, message.LoginStarted{Err: err, Hint: hintOf(err)}}))
	}
	if p.finish != nil {
		out = append(out, kernel.Act(finished{p.finish, err}))
	}
	if p.taken {
		out = append(out, kernel.Act(release{1}))
	}
	return out
}

func (s *state) dropLogins(err error, out []kernel.Effect) []kernel.Effect {
	for _, n := range slices.Sorted(maps.Keys(s.pending)) {
		out = s.drop(n, err, out)
	}
	return out
}

// begun: the person can go and log in, or it is known why not.
func (s *state) begun(now time.Time, m begun, out []kernel.Effect) []kernel.Effect {
	p := s.pending[m.number]
	if p == nil {
		if m.taken {
			out = append(out, kernel.Act(release{1}))
		}
		return out
	}
	p.taken = m.taken
	if m.err != nil {
		return s.drop(m.number, m.err, out)
	}
	s.record.Server = s.server
	s.record.register(m.login.Client)
	p.login = m.login
	answer := message.LoginStarted{State: m.login.State, URL: m.login.URL, Issuer: m.login.Site.Issuer, Expires: now.Add(loginLasts)}
	if m.device != nil {
		p.interval = m.device.Interval
		answer.URL, answer.Complete, answer.UserCode, answer.Expires = m.device.URL, m.device.Complete, m.device.UserCode, m.device.Expires
		out = append(out, kernel.WakeAfter(p.interval, pollDue{m.number}))
	}
	out = append(out, kernel.Act(started{p.reply, answer}))
	p.reply = nil
	return out
}

// find returns the login under way that has that state. All are compared, each in constant time.
func (s *state) find(state string) (number uint64, p *pending) {
	for n, candidate := range s.pending {
		if candidate.login != nil && subtle.ConstantTimeCompare([]byte(candidate.login.State), []byte(state)) == 1 {
			number, p = n, candidate
		}
	}
	return number, p
}

// finishLogin takes what the browser brought. There is one answer to a login, and who brings it must have begun it: an attacker may have
// the victim's browser open the page to log in, or bring the answer.
func (s *state) finishLogin(m message.FinishLogin, out []kernel.Effect) []kernel.Effect {
	number, p := s.find(m.State)
	switch {
	case p == nil || p.answered:
		return append(out, kernel.Act(finished{m.Reply, oauth.ErrState}))
	case p.who != m.Who:
		out = append(out, kernel.Act(finished{m.Reply, oauth.ErrState}))
		return s.drop(number, oauth.ErrState, out)
	}
	p.answered, p.finish = true, m.Reply
	if p.device {
		return out
	}
	p.asked = true
	answer := oauth.Answer{State: m.State, Code: m.Code, Issuer: m.Issuer, Error: m.Error, Description: m.Description}
	return append(out, kernel.Act(redeem{number, p.login, answer}))
}

// redeemed: the login is there, or it is known why not.
func (s *state) redeemed(now time.Time, number uint64, token oauth.Token, err error, out []kernel.Effect) []kernel.Effect {
	p := s.pending[number]
	if p == nil { // it took too long, or was given up
		return s.cameLate(number, token, err, out)
	}
	if p.finish == nil {
		out = append(out, kernel.Act(unawaited{p.who, err}))
	}
	if err != nil {
		if oauth.Unknown(err) {
			s.record.forget(p.login.Client)
		}
		return s.drop(number, err, out)
	}
	next := record{Server: s.server, Site: p.login.Site, Client: p.login.Client, Token: token, Asked: p.login.Scopes, Clients: s.record.Clients}
	if p.finish != nil {
		s.finishing = append(s.finishing, p.finish)
		p.finish = nil
	}
	if s.steps++; !p.step {
		s.steps = 0
	}
	out = s.drop(number, nil, out)
	s.flight, s.reading, s.forced, s.adopted, s.more = 0, false, 0, 0, nil // what is under way for the login before this one is not waited for
	return s.accept(now, next, out)
}

// answerFinishing answers the people whose login is there.
func (s *state) answerFinishing(err error, out []kernel.Effect) []kernel.Effect {
	for _, to := range s.finishing {
		out = append(out, kernel.Act(finished{to, err}))
	}
	s.finishing = nil
	return out
}

// pollDue asks whether the person has logged in elsewhere.
func (s *state) pollDue(m pollDue, out []kernel.Effect) []kernel.Effect {
	p := s.pending[m.number]
	if p == nil || p.login == nil {
		return out
	}
	p.asked = true
	return append(out, kernel.Act(poll{m.number, p.login}))
}

func (s *state) polled(now time.Time, m polled, out []kernel.Effect) []kernel.Effect {
	p := s.pending[m.number]
	if p == nil {
		return s.cameLate(m.number, m.token, m.err, out)
	}
	p.asked = false
	switch {
	case errors.Is(m.err, oauth.ErrSlowDown):
		p.interval += 5 * time.Second
	case !errors.Is(m.err, oauth.ErrPending) && !oauth.Temporary(m.err):
		return s.redeemed(now, m.number, m.token, m.err, out)
	}
	return append(out, kernel.WakeAfter(p.interval, pollDue{m.number}))
}

// loginOver ends a login that took too long. One whose answer is being looked at has a moment more.
func (s *state) loginOver(m loginOver, out []kernel.Effect) []kernel.Effect {
	p := s.pending[m.number]
	if p == nil || p.answered && !p.device {
		return out
	}
	if p.login != nil { // whom the authorization server does not know sees a page that says so, and we hear nothing
		s.record.forget(p.login.Client)
	}
	return s.drop(m.number, ErrExpired, out)
}
