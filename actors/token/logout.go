package token

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// logout tracks the end of a login, or of a pending login that was canceled. It is complete when all its results have
// arrived: of the store's removal of the login, of requests for tokens that were in progress, and of the revocation of
// these tokens and the current one.
type logout struct {
	reply  chan<- message.LoginFinished // nil if no caller waits
	forgot chan<- struct{}              // receives a value when the login is removed from the state file; nil if no caller waits
	left   int                          // results that have not arrived
	err    error                        // the first failure
}

// lateToken is a token request that was in progress when its login was ended or canceled.
type lateToken struct {
	logout *logout
	site   *oauth.AuthServer
	client oauth.Client
}

// logouts holds the logouts that are not complete.
type logouts struct {
	all     []*logout
	late    map[uint64]lateToken // by the number of the token request
	pending map[uint64]*logout   // by the number of the revocation or the store's write
}

// logOut ends the login in the gateway, and revokes its tokens if the authorization server supports it.
func (s *state) logOut(now time.Time, m message.EndLogin, out []kernel.Effect) []kernel.Effect {
	was, l := s.record, &logout{reply: m.Reply, forgot: m.Forgot}
	s.logouts.all = append(s.logouts.all, l)
	if s.renewal.request != 0 && s.phase == refreshing {
		s.logouts.expect(l, s.renewal.request, s.record.Site, s.record.Client)
	}
	for number, login := range s.logins.redeeming {
		s.logouts.expect(l, number, login.Site, login.Client)
	}
	out = s.logins.dropAll(ErrOvertaken, out)
	out = s.logins.complete(ErrOvertaken, out)
	number, out := s.storeToken(nil, s.forget(out))
	s.logouts.await(l, number)
	out = s.refusals.denyAll(errLoggedOut, out)
	out = s.announce(message.LoginNone, "", out)
	if s.share != nil {
		return s.endShared(now, l, was, out)
	}
	out = s.logouts.revoke(&s.requests, l, was.Site, was.Client, was.Token, out)
	return s.logouts.settle(l, out)
}

// expect records that l waits for a token request in progress.
func (v *logouts) expect(l *logout, number uint64, site *oauth.AuthServer, client oauth.Client) {
	v.late[number] = lateToken{l, site, client}
	l.left++
}

// await records that l waits for a result.
func (v *logouts) await(l *logout, number uint64) {
	v.pending[number] = l
	l.left++
}

// receivedLate handles the result of a token request whose login was ended or canceled: it revokes the token.
func (v *logouts) receivedLate(requests *counter, number uint64, token oauth.Token, err error, out []kernel.Effect) []kernel.Effect {
	late, expected := v.late[number]
	if !expected {
		return out
	}
	delete(v.late, number)
	if err == nil {
		out = v.revoke(requests, late.logout, late.site, late.client, token, out)
	}
	late.logout.left--
	return v.settle(late.logout, out)
}

// revoke requests the revocation of a token, for which l then waits. It does nothing if there is no token or the
// authorization server does not support revocation.
func (v *logouts) revoke(requests *counter, l *logout, site *oauth.AuthServer, client oauth.Client, token oauth.Token, out []kernel.Effect) []kernel.Effect {
	if token.Access == "" || site == nil || site.Revoke == "" {
		return out
	}
	number := requests.next()
	v.await(l, number)
	return append(out, kernel.Act(revoke{number, site, client, token}))
}

// revoked handles the end of a revocation.
func (v *logouts) revoked(m revoked, out []kernel.Effect) []kernel.Effect {
	l := v.received(m.number)
	if l == nil {
		return out
	}
	if m.err != nil {
		l.err = cmp.Or(l.err, fmt.Errorf("the login was removed from the gateway, but the authorization server did not revoke it: %w", m.err))
	}
	return v.settle(l, out)
}

// forgotten handles the store's answer. The login was removed from the state file or, if the parameter failed is not "",
// may still be there.
func (v *logouts) forgotten(number uint64, failed string, out []kernel.Effect) []kernel.Effect {
	l := v.received(number)
	if l == nil {
		return out
	}
	if failed == "" {
		out = append(out, kernel.Act(forgot{l.forgot}))
	} else {
		l.err = cmp.Or(l.err, fmt.Errorf("the login was ended, but may still be in the state file: %s", failed))
	}
	return v.settle(l, out)
}

// received records a result and returns the logout that waited for it, or nil if none did.
func (v *logouts) received(number uint64) *logout {
	l := v.pending[number]
	if l != nil {
		delete(v.pending, number)
		l.left--
	}
	return l
}

// settle answers the caller when l is complete. A failure is logged if no caller waits.
func (v *logouts) settle(l *logout, out []kernel.Effect) []kernel.Effect {
	if l.left > 0 {
		return out
	}
	if l.reply == nil && l.err != nil {
		out = append(out, kernel.Log(slog.LevelWarn, "login not ended completely", "err", l.err))
	}
	v.all = slices.DeleteFunc(v.all, func(other *logout) bool { return other == l })
	return append(out, kernel.Act(finished{l.reply, l.err}))
}

// abandon answers the callers of all logouts, since the remaining results will be lost.
func (v *logouts) abandon(out []kernel.Effect) []kernel.Effect {
	for _, l := range v.all {
		out = append(out, kernel.Act(finished{l.reply, cmp.Or(l.err, errUnanswered)}))
	}
	v.all = nil
	clear(v.late)
	clear(v.pending)
	return out
}
