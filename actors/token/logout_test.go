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

// size counts everything that is left of logouts.
func (v *logouts) size() int { return len(v.all) + len(v.late) + len(v.pending) }

// all takes the acts of a kind, and forgets all acts.
func all[T any](p *script) (found []T) {
	for _, a := range p.acts {
		if f, is := a.(T); is {
			found = append(found, f)
		}
	}
	p.acts = nil
	return found
}

// end has somebody log out.
func (p *script) end() <-chan message.LoginFinished {
	reply := make(chan message.LoginFinished, 1)
	p.tell(message.EndLogin{Reply: reply})
	return reply
}

func tokenOf(name string) oauth.Token { return oauth.Token{Access: "a" + name, Refresh: "r" + name} }

// A refresh is under way when somebody logs out: the token that it brings is revoked like the one that there was, and only then he is told.
func TestLogoutDuringARefresh(t *testing.T) {
	p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
	r, _ := take[refresh](p)
	done := p.end()
	given := all[revoke](p)
	if len(given) != 1 || given[0].token.Refresh != "r0" {
		t.Fatalf("given back at once: %d tokens", len(given))
	}
	p.tell(revoked{number: given[0].number})
	p.kept("")
	if len(done) != 0 {
		t.Fatal("he is told before the refresh has ended")
	}
	p.tell(granted{number: r.number, token: tokenOf("1")})
	given = all[revoke](p)
	if len(given) != 1 || given[0].token.Refresh != "r1" || given[0].site.Revoke != site().Revoke {
		t.Fatalf("given back when it came: %d tokens", len(given))
	}
	if p.s.current != nil || p.s.phase != none {
		t.Errorf("it is %s, and used", p.s.phase)
	}
	p.tell(revoked{number: given[0].number, err: errors.New("refused")})
	if end := <-done; end.Err == nil || !strings.Contains(end.Err.Error(), "removed here, but not revoked") || p.s.logouts.size() != 0 {
		t.Errorf("he is told %v", end.Err)
	}
	p.tell(granted{number: r.number, token: tokenOf("2")})
	if given = all[revoke](p); len(given) != 0 {
		t.Error("something is given back that nobody asked for")
	}
}

// So it is of a login that is about to be there: by browser, and by device.
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
			t.Fatalf("device %t: whoever logs in has %d answers, whoever logs out %d", device, len(finished), len(done))
		}
		if device {
			p.tell(polled{number: b.number, token: tokenOf("1")})
		} else {
			p.tell(redeemed{number: b.number, token: tokenOf("1")})
		}
		given := all[revoke](p)
		if len(given) != 1 || given[0].token.Refresh != "r1" || given[0].client.ID != "c" {
			t.Fatalf("device %t: %d tokens are given back", device, len(given))
		}
		p.tell(revoked{number: given[0].number})
		p.kept("")
		if end := <-done; end.Err != nil {
			t.Errorf("device %t: %v", device, end.Err)
		}
	}
}

// Whoever logs out is told when the login has gone from the state file, or may not have.
func TestLogoutIsOnDisk(t *testing.T) {
	for name, answer := range map[string]func(*script){
		"":                 func(p *script) { p.kept("") },
		"the disk is full": func(p *script) { p.kept("the disk is full") },
		"does not respond": func(p *script) { p.until(p.now.Add(storeTimeout)) },
	} {
		p := newScript(t, keptRecord(epoch, time.Hour), 1)
		p.s.record.Site.Revoke = ""
		done := p.end()
		if _, early := take[forgot](p); early || len(done) != 0 {
			t.Fatal("he is told before the store has answered")
		}
		if answer(p); len(done) != 1 {
			t.Fatalf("%q: he is not told", name)
		}
		if _, gone := take[forgot](p); gone != (name == "") {
			t.Errorf("%q: said to be forgotten here: %t", name, gone)
		}
		if end := <-done; (name == "") != (end.Err == nil) || end.Err != nil && !strings.Contains(end.Err.Error(), name) {
			t.Errorf("%q: he is told %v", name, end.Err)
		}
		if p.s.logouts.size() != 0 {
			t.Errorf("%q: something is left", name)
		}
	}
}

// What fails brings no token. Nothing that was under way before a restart is waited for.
func TestLogoutWithoutATokenToCome(t *testing.T) {
	for name, of := range map[string]func(*script, refresh){
		"the refresh fails": func(p *script, r refresh) {
			p.tell(granted{number: r.number, err: &oauth.OAuthError{Code: "invalid_grant"}})
		},
		"the actor begins anew": func(p *script, _ refresh) { p.tell(kernel.Started{}) },
		"the actor ends":        func(p *script, _ refresh) { p.tell(kernel.Stopping{}) },
	} {
		p := newScript(t, keptRecord(epoch.Add(-2*time.Hour), time.Hour), 1)
		p.s.record.Site.Revoke = ""
		r, _ := take[refresh](p)
		done := p.end()
		if len(done) != 0 {
			t.Fatalf("%s: he is told before it is known", name)
		}
		p.kept("")
		of(p, r)
		if given := all[revoke](p); len(given) != 0 || len(done) != 1 {
			t.Errorf("%s: %d tokens given back, %d answers", name, len(given), len(done))
		}
	}
}
