package token

import (
	"errors"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// size returns the number of entries in the tables of logouts.
func (v *logouts) size() int { return len(v.all) + len(v.late) + len(v.pending) }

// all returns the acts of type T and clears the list of acts.
func all[T any](p *script) (found []T) {
	for _, a := range p.acts {
		if f, is := a.(T); is {
			found = append(found, f)
		}
	}
	p.acts = nil
	return found
}

// end sends EndLogin and returns the channel for its answer.
func (p *script) end() <-chan message.LoginFinished {
	reply := make(chan message.LoginFinished, 1)
	p.tell(message.EndLogin{Reply: reply})
	return reply
}

func tokenOf(name string) oauth.Token { return oauth.Token{Access: "a" + name, Refresh: "r" + name} }

// A logout during a refresh revokes the current token and the one that the refresh returns. It is answered after both.
func TestLogoutDuringARefresh(t *testing.T) {
	p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	r, _ := take[refresh](p)
	done := p.end()
	given := all[revoke](p)
	if len(given) != 1 || given[0].token.Refresh != "r0" {
		t.Fatalf("%d tokens revoked at once, want the current one", len(given))
	}
	p.tell(revoked{number: given[0].number})
	p.kept("")
	if len(done) != 0 {
		t.Fatal("the logout was answered before the refresh had ended")
	}
	p.tell(granted{number: r.number, token: tokenOf("1")})
	given = all[revoke](p)
	if len(given) != 1 || given[0].token.Refresh != "r1" || given[0].site.Revoke != site().Revoke {
		t.Fatalf("%d tokens revoked after the refresh, want the new one", len(given))
	}
	if p.s.current != nil || p.s.phase != none {
		t.Errorf("phase %s, want none and no current token", p.s.phase)
	}
	p.tell(revoked{number: given[0].number, err: errors.New("refused")})
	if end := <-done; end.Err == nil || !strings.Contains(end.Err.Error(), "did not revoke it") || p.s.logouts.size() != 0 {
		t.Errorf("logout answered %v, %d entries left; want an error about the revocation and no entries", end.Err, p.s.logouts.size())
	}
	p.tell(granted{number: r.number, token: tokenOf("2")})
	if given = all[revoke](p); len(given) != 0 {
		t.Error("a second response to the refresh was revoked")
	}
}

// A logout during a login, by browser or device, revokes the token that the login obtains.
func TestLogoutDuringALogin(t *testing.T) {
	for _, device := range []bool{false, true} {
		p := newScript(t, nil, 1)
		started, finished := make(chan message.LoginStarted, 1), make(chan message.LoginFinished, 1)
		p.tell(message.BeginLogin{Who: "ada", Device: device, Reply: started})
		b, _ := take[begin](p)
		m := begun{number: b.number, login: &oauth.Login{State: "s", Site: site(), Client: oauth.Client{ID: "c"}}}
		if device {
			m.device = &oauth.Device{Interval: time.Second}
		}
		p.tell(m)
		p.tell(message.FinishLogin{Who: "ada", State: "s", Reply: finished})
		p.until(p.now.Add(time.Second))
		done := p.end()
		if len(finished) != 1 || len(done) != 0 {
			t.Fatalf("device %t: %d answers to the login and %d to the logout, want 1 and 0", device, len(finished), len(done))
		}
		if device {
			p.tell(polled{number: b.number, token: tokenOf("1")})
		} else {
			p.tell(redeemed{number: b.number, token: tokenOf("1")})
		}
		given := all[revoke](p)
		if len(given) != 1 || given[0].token.Refresh != "r1" || given[0].client.ID != "c" {
			t.Fatalf("device %t: %d tokens revoked, want the new one", device, len(given))
		}
		p.tell(revoked{number: given[0].number})
		p.kept("")
		if end := <-done; end.Err != nil {
			t.Errorf("device %t: %v", device, end.Err)
		}
	}
}

// A logout is answered after the login was removed from the state file, or after the removal has failed.
func TestLogoutIsOnDisk(t *testing.T) {
	for name, answer := range map[string]func(*script){
		"":                 func(p *script) { p.kept("") },
		"the disk is full": func(p *script) { p.kept("the disk is full") },
		"timed out":        func(p *script) { p.until(p.now.Add(storeTimeout)) },
	} {
		p := newScript(t, keptRecord(epoch, time.Hour), 1)
		p.s.record.Site.Revoke = ""
		done := p.end()
		if _, early := take[forgot](p); early || len(done) != 0 {
			t.Fatal("the logout was answered before the store")
		}
		if answer(p); len(done) != 1 {
			t.Fatalf("%q: the logout was not answered", name)
		}
		if _, gone := take[forgot](p); gone != (name == "") {
			t.Errorf("%q: reported as removed from the state file: %t", name, gone)
		}
		if end := <-done; (name == "") != (end.Err == nil) || end.Err != nil && !strings.Contains(end.Err.Error(), name) {
			t.Errorf("%q: logout answered %v", name, end.Err)
		}
		if p.s.logouts.size() != 0 {
			t.Errorf("%q: logouts is not empty", name)
		}
	}
}

// A logout during a refresh is answered without a further revocation if the refresh fails, since it returns no token, and if the
// actor restarts or stops.
func TestLogoutAfterFailedRefresh(t *testing.T) {
	for name, of := range map[string]func(*script, refresh){
		"the refresh fails": func(p *script, r refresh) {
			p.tell(granted{number: r.number, err: &oauth.OAuthError{Code: "invalid_grant"}})
		},
		"the actor restarts": func(p *script, _ refresh) { p.tell(kernel.Started{}) },
		"the actor stops":    func(p *script, _ refresh) { p.tell(kernel.Stopping{}) },
	} {
		p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
		p.s.record.Site.Revoke = ""
		r, _ := take[refresh](p)
		done := p.end()
		if len(done) != 0 {
			t.Fatalf("%s: the logout was answered before the refresh had ended", name)
		}
		p.kept("")
		of(p, r)
		if given := all[revoke](p); len(given) != 0 || len(done) != 1 {
			t.Errorf("%s: %d tokens revoked and %d answers, want 0 and 1", name, len(given), len(done))
		}
	}
}

// A token that arrives for a login that has timed out, was displaced, or was finished by another principal is revoked.
func TestTokenOfACanceledLogin(t *testing.T) {
	for name, cancel := range map[string]func(*script){
		"timed out": func(p *script) { p.until(epoch.Add(loginTimeout)) },
		"displaced": func(p *script) {
			for range maxLoginsOfOne {
				p.tell(message.BeginLogin{Who: "ada", Device: true, Reply: make(chan message.LoginStarted, 1)})
			}
		},
		"another principal": func(p *script) {
			p.tell(message.FinishLogin{Who: "eve", State: "s", Reply: make(chan message.LoginFinished, 1)})
		},
	} {
		for _, err := range []error{nil, oauth.ErrPending} {
			p := newScript(t, nil, 1)
			p.tell(message.BeginLogin{Who: "ada", Device: true, Reply: make(chan message.LoginStarted, 1)})
			b, _ := take[begin](p)
			p.tell(begun{number: b.number, login: &oauth.Login{State: "s", Site: site(), Client: oauth.Client{ID: "c"}}, device: &oauth.Device{Interval: time.Second}})
			p.until(epoch.Add(time.Second)) // a poll is in progress
			if cancel(p); p.s.logins.pending[b.number] != nil {
				t.Fatalf("%s: the login is still pending", name)
			}
			p.tell(polled{number: b.number, token: tokenOf("1"), err: err})
			given := all[revoke](p)
			if err == nil && (len(given) != 1 || given[0].token.Refresh != "r1" || given[0].client.ID != "c") || err != nil && len(given) != 0 {
				t.Fatalf("%s, poll answered %v: %d tokens revoked", name, err, len(given))
			}
			for _, r := range given {
				p.tell(revoked{number: r.number})
			}
			if p.s.logouts.size() != 0 || p.s.current != nil {
				t.Errorf("%s: %d entries left, want none, and no current token", name, p.s.logouts.size())
			}
		}
	}
}
