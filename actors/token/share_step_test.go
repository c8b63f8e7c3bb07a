package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// newSharedScript returns a script of a login that the nodes of a cluster share. The record has not been read.
func newSharedScript(t *testing.T, kept *record) *script {
	tags := 0
	o := Options{
		Login: message.LoginKey{Entry: "files"}, Key: "files", Agent: &oauth.Agent{Server: "https://mcp.example/mcp"},
		Shared: &ledger{}, NewTag: func() string { tags++; return fmt.Sprint("a.", tags) },
	}
	if kept != nil {
		o.Stored = kept.encode()
	}
	p := &script{t: t, s: newState(o), now: epoch}
	p.tell(kernel.Started{})
	return p
}

// storedLogin returns a shared record that contains the login.
func storedLogin(revision uint64, r *record) claim.Stored {
	return claim.Stored{Record: claim.Record{Value: json.RawMessage(r.encode()), Version: fmt.Sprint("b.", revision)}, Revision: revision}
}

// read answers the last read of the shared record.
func (p *script) read(s claim.Stored, err error) {
	p.t.Helper()
	g, ok := take[claim.Get](p)
	if !ok {
		p.t.Fatal("the record is not read")
	}
	p.tell(claim.Got{Number: g.Number, Stored: s, Err: err})
}

// wrote answers the last write of the shared record, and returns what was written.
func (p *script) wrote(revision uint64, err error) claim.Stored {
	p.t.Helper()
	w, ok := take[claim.Put](p)
	if !ok {
		p.t.Fatal("the record is not written")
	}
	p.tell(claim.Written{Number: w.Number, Revision: revision, Err: err})
	return claim.Stored{Record: w.Record, Revision: revision}
}

// refuse sends a refused request, and returns the channel of its answer.
func (p *script) refuse() chan upstream.Verdict {
	p.t.Helper()
	reply := make(chan upstream.Verdict, 1)
	sent := ""
	if p.s.current != nil {
		sent = p.s.current.authorization
	}
	p.tell(refused{reply: reply, sent: sent, status: http.StatusUnauthorized})
	return reply
}

// renewing brings a shared login to a renewal under a claim, and returns the request and the record.
func (p *script) renewing() (refresh, claim.Stored) {
	p.t.Helper()
	p.read(storedLogin(5, keptRecord(epoch, time.Hour)), nil)
	p.refuse()
	held := p.wrote(6, nil)
	r, ok := take[refresh](p)
	if !ok {
		p.t.Fatal("the login is not renewed")
	}
	return r, held
}

// A request that is refused after the authorization server has ended the login is answered at once, whether or not the
// end of the login can be written into the record.
func TestRefusedAfterSharedLoginEnded(t *testing.T) {
	p := newSharedScript(t, nil)
	r, _ := p.renewing()
	p.tell(granted{number: r.number, err: &oauth.OAuthError{Status: 400, Code: "invalid_grant"}})
	if p.s.phase != needsLogin {
		t.Fatalf("phase %s", p.s.phase)
	}
	reply := p.refuse()
	if len(reply) != 1 || (<-reply).Err == nil {
		t.Error("the request waits for the write")
	}
	p.wrote(0, errDown)
	if reply := p.refuse(); len(reply) != 1 {
		t.Error("the request waits although the write has failed")
	}
}

// A request that waits during a logout is answered when the record is empty, also after a restart.
func TestRefusedDuringSharedLogout(t *testing.T) {
	for _, failed := range []error{nil, errDown} {
		p := newSharedScript(t, nil)
		p.read(storedLogin(5, keptRecord(epoch, time.Hour)), nil)
		p.tell(message.EndLogin{})
		p.tell(kernel.Started{})
		reply := p.refuse()
		p.read(storedLogin(5, keptRecord(epoch, time.Hour)), failed)
		if failed == nil {
			p.wrote(6, nil)
		}
		d, ok := take[discover](p)
		if !ok {
			t.Fatal("the request is not answered")
		}
		p.tell(discovered{number: d.number, site: site()})
		if len(reply) != 1 {
			t.Error("the request is not answered after the discovery")
		}
	}
}

// A renewal may begin before the record was read. Afterwards, requests do not wait for the first read.
func TestRenewalOvertakesOpen(t *testing.T) {
	p := newSharedScript(t, keptRecord(epoch, time.Hour))
	p.refuse()
	p.read(claim.Stored{}, nil)
	p.wrote(6, nil)
	r, ok := take[refresh](p)
	if !ok {
		t.Fatal("the login is not renewed")
	}
	if p.s.share.isOpening() || p.s.share.isUnreachable() {
		t.Error("the record counts as unread during the renewal")
	}
	p.tell(granted{number: r.number, err: &oauth.OAuthError{Status: 400, Code: "invalid_grant"}})
	if reply := p.refuse(); len(reply) != 1 {
		t.Error("the request waits for the first read")
	}
}

// A panic does not stop the renewals, whatever the actor did, and whether or not the token has expired meanwhile.
func TestSharedLoginAfterPanic(t *testing.T) {
	kept := storedLogin(5, keptRecord(epoch, time.Hour))
	for name, before := range map[string]func(p *script) claim.Stored{
		"fresh": func(p *script) claim.Stored { p.read(kept, nil); return kept },
		"renew": func(p *script) claim.Stored { p.read(kept, nil); p.refuse(); return kept },
		"hold":  func(p *script) claim.Stored { _, held := p.renewing(); return held },
		"stale": func(p *script) claim.Stored {
			r, _ := p.renewing()
			p.tell(granted{number: r.number, err: &oauth.OAuthError{Status: 503}})
			return p.wrote(7, nil)
		},
		"release": func(p *script) claim.Stored {
			r, held := p.renewing()
			p.tell(granted{number: r.number, err: &oauth.OAuthError{Status: 503}})
			return held
		},
	} {
		for _, later := range []time.Duration{time.Second, 2 * time.Hour} {
			p := newSharedScript(t, nil)
			now := before(p)
			p.now, p.wakes = p.now.Add(later), nil
			p.tell(kernel.Stopping{Reason: kernel.WhyRestarting})
			p.tell(kernel.Started{})
			if expired := later > time.Hour; (p.s.current == nil) != expired {
				t.Errorf("%s, %v: token in use: %t", name, later, p.s.current != nil)
			}
			p.read(now, nil)
			if p.s.phase == fresh {
				p.refuse()
			}
			for range 3 {
				if w, ok := take[claim.Put](p); ok {
					p.tell(claim.Written{Number: w.Number, Revision: 10, Err: nil})
				}
			}
			if p.s.phase != refreshing || p.s.renewal.request == 0 || p.s.share.isOpening() {
				t.Errorf("%s, %v: phase %s, request %d, opening %t; want a renewal", name, later, p.s.phase, p.s.renewal.request, p.s.share.opening)
			}
		}
	}
}

// A record that cannot be used ends a renewal that it overtakes: the requests are answered, and the renewal is tried again.
func TestUnusableRecordEndsRenewal(t *testing.T) {
	other := keptRecord(epoch, time.Hour)
	other.Server = "https://other.example/mcp"
	p := newSharedScript(t, nil)
	p.read(storedLogin(5, keptRecord(epoch, time.Hour)), nil)
	reply := p.refuse()
	p.tell(seen{claim.Seen{Stored: storedLogin(8, other)}})
	if p.s.phase != stale || len(reply) != 1 {
		t.Errorf("phase %s, %d answers", p.s.phase, len(reply))
	}

	p = newSharedScript(t, nil)
	r, _ := p.renewing()
	p.tell(granted{number: r.number, token: oauth.Token{Access: "a1", Refresh: "r1", Received: p.now, Expires: p.now.Add(time.Hour)}})
	reply = p.refuse()
	p.wrote(0, claim.ErrChanged)
	p.until(p.now.Add(time.Second))
	p.read(claim.Stored{Revision: 9, Invalid: errDown}, nil)
	if p.s.phase != stale || len(reply) != 1 {
		t.Errorf("phase %s, %d answers after an invalid record", p.s.phase, len(reply))
	}
}

// A record has room for the largest login.
func TestLargestSharedLogin(t *testing.T) {
	if claim.MaxRecord < message.MaxTokenBytes+4<<10 {
		t.Errorf("a record has at most %d bytes", claim.MaxRecord)
	}
}

// A record that was sealed with an unknown secret leads to a new login, but not while the old token is in use. If the secret is added later, the
// record is used again.
func TestSharedLoginWithUnknownSecret(t *testing.T) {
	kept, sealed := storedLogin(5, keptRecord(epoch, time.Hour)), claim.Stored{Revision: 6, Invalid: errors.New("unknown secret")}
	p := newSharedScript(t, nil)
	p.read(kept, nil)
	p.tell(seen{claim.Seen{Stored: sealed}})
	p.until(epoch.Add(50 * time.Minute))
	p.read(sealed, nil)
	if p.s.phase != stale || p.s.current == nil {
		t.Fatalf("phase %s, the token is in use: %t", p.s.phase, p.s.current != nil)
	}
	p.until(epoch.Add(2 * time.Hour))
	p.read(sealed, nil)
	if p.s.phase != needsLogin || p.s.current != nil {
		t.Fatalf("phase %s after the token has expired", p.s.phase)
	}
	reply := p.refuse()
	if len(reply) != 1 || !errors.Is((<-reply).Err, ErrNeedsLogin) {
		t.Error("the request is not answered with the need to log in")
	}
	p.until(p.now.Add(discoveryInterval))
	reply = p.refuse()
	kept = storedLogin(6, keptRecord(p.now, time.Hour))
	p.read(kept, nil)
	if len(reply) != 1 || !(<-reply).Again || p.s.phase != fresh {
		t.Errorf("phase %s after the secret was added", p.s.phase)
	}
}
