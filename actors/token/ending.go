package token

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// ending is a login that was given up, until it has gone from the state file and its authorization server has heard of all that there was of
// it: the token there was, and those that were under way. When these come nobody has a use for them, and they are good for as long as the
// login would have been.
type ending struct {
	reply  chan<- message.LoginFinished // nil = nobody waits for it
	forgot chan<- struct{}              // likewise
	left   int                          // answers that are awaited
	err    error                        // the first thing that went wrong
}

// late is a request for a token whose login was given up meanwhile.
type late struct {
	ending *ending
	site   *oauth.Site
	client oauth.Client
}

// endLogin forgets the login, here and at the authorization server.
func (s *state) endLogin(m message.EndLogin, out []kernel.Effect) []kernel.Effect {
	was, e := s.record, &ending{reply: m.Reply, forgot: m.Forgot}
	s.endings = append(s.endings, e)
	s.expect(e)
	out = s.dropLogins(ErrOvertaken, out)
	out = s.answerFinishing(ErrOvertaken, out)
	s.record, s.current, s.fault, s.phase = record{}, nil, nil, none
	s.flight, s.reading, s.keeping, s.forced, s.steps, s.more, s.retryAt = 0, false, 0, 0, 0, nil, time.Time{}
	s.timer++
	forget, out := s.keep(nil, append(out, kernel.Act(publish{})))
	s.revoking[forget] = e
	e.left++
	out = s.denyAll(errLoggedOut, out)
	out = s.tell(message.LoginNone, "", out)
	out = s.giveBack(e, was.Site, was.Client, was.Token, out)
	return s.settle(e, out)
}

// expect notes the requests for tokens that are under way.
func (s *state) expect(e *ending) {
	if s.flight != 0 && s.phase == refreshing {
		s.late[s.flight] = late{e, s.record.Site, s.record.Client}
		e.left++
	}
	for number, p := range s.pending {
		if p.asked {
			s.late[number] = late{e, p.login.Site, p.login.Client}
			e.left++
		}
	}
}

// cameLate takes what a request has brought that nobody waits for any more.
func (s *state) cameLate(number uint64, token oauth.Token, err error, out []kernel.Effect) []kernel.Effect {
	l, expected := s.late[number]
	if !expected {
		return out
	}
	delete(s.late, number)
	if err == nil {
		out = s.giveBack(l.ending, l.site, l.client, token, out)
	}
	l.ending.left--
	return s.settle(l.ending, out)
}

// giveBack has the authorization server forget a token, where it can be asked to.
func (s *state) giveBack(e *ending, site *oauth.Site, client oauth.Client, token oauth.Token, out []kernel.Effect) []kernel.Effect {
	if token.Access == "" || site == nil || site.Revoke == "" {
		return out
	}
	s.number++
	s.revoking[s.number] = e
	e.left++
	return append(out, kernel.Act(revoke{s.number, site, client, token}))
}

// revoked: the authorization server has heard of it, or not.
func (s *state) revoked(m revoked, out []kernel.Effect) []kernel.Effect {
	e := s.revoking[m.number]
	if e == nil {
		return out
	}
	delete(s.revoking, m.number)
	e.left--
	if m.err != nil {
		e.err = cmp.Or(e.err, fmt.Errorf("the login is forgotten here, but not there: %w", m.err))
	}
	return s.settle(e, out)
}

// forgotten: the login that was given up has gone from the state file, or it is not known whether it has.
func (s *state) forgotten(number uint64, failed string, out []kernel.Effect) []kernel.Effect {
	e := s.revoking[number]
	if e == nil {
		return out
	}
	delete(s.revoking, number)
	e.left--
	if failed == "" {
		out = append(out, kernel.Act(forgot{e.forgot}))
	} else {
		e.err = cmp.Or(e.err, fmt.Errorf("the login is not used any more, but it may still be in the state file: %s", failed))
	}
	return s.settle(e, out)
}

// settle answers whoever ended a login when there is nothing more to wait for.
func (s *state) settle(e *ending, out []kernel.Effect) []kernel.Effect {
	if e.left > 0 {
		return out
	}
	s.endings = slices.DeleteFunc(s.endings, func(other *ending) bool { return other == e })
	return append(out, kernel.Act(finished{e.reply, e.err}))
}

// forgetEndings answers everybody who waits for the end of a login of which we will hear nothing more.
func (s *state) forgetEndings(out []kernel.Effect) []kernel.Effect {
	for _, e := range s.endings {
		out = append(out, kernel.Act(finished{e.reply, cmp.Or(e.err, errUnheard)}))
	}
	s.endings = nil
	clear(s.late)
	clear(s.revoking)
	return out
}
