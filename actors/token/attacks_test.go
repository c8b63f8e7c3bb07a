package token

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// 500 requests are refused with the same token, which must cause only one renewal: a refresh token that is used twice ends
// the login (RFC 9700, 4.14.2).
func TestAttack66TwoRefreshes(t *testing.T) {
	w := newWorld(t, authtest.Faults{TokenDelay: 20 * time.Millisecond}, nil)
	w.logIn()
	sent := w.handle.Authorization()
	w.issuer.Revoke(false)
	var all sync.WaitGroup
	verdicts := make([]upstream.Verdict, 500)
	for i := range verdicts {
		all.Go(func() { verdicts[i] = <-w.handle.Refused(sent, http.StatusUnauthorized, w.server.Challenge()) })
	}
	all.Wait()
	for _, v := range verdicts {
		if !v.Again {
			t.Fatalf("refused request: %+v, want a retry", v)
		}
	}
	if n := w.issuer.Refreshes(); n != 1 {
		t.Errorf("%d refreshes, want 1", n)
	}
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Errorf("after the renewal: status %d, %+v", status, v)
	}
	if v := <-w.handle.Refused(sent, http.StatusUnauthorized, nil); !v.Again || w.issuer.Refreshes() != 1 {
		t.Errorf("a late refusal of the old token: %+v, %d refreshes; want a retry without a renewal", v, w.issuer.Refreshes())
	}
}

// A failure of the authorization server does not end a login.
func TestAttack67FaultLogsOut(t *testing.T) {
	for name, set := range map[string]func(*authtest.Faults){
		"500":            func(f *authtest.Faults) { f.TokenStatus = 500 },
		"503":            func(f *authtest.Faults) { f.TokenStatus = 503 },
		"429":            func(f *authtest.Faults) { f.TokenStatus = 429 },
		"HTML page":      func(f *authtest.Faults) { f.TokenStatus = 404 },
		"invalid_client": func(f *authtest.Faults) { f.TokenError = "invalid_client" },
		"server_error":   func(f *authtest.Faults) { f.TokenError = "server_error" },
		"redirect":       func(f *authtest.Faults) { f.TokenRedirect = "https://login.example/" },
		"connection cut": func(f *authtest.Faults) { f.Cut, f.KeepRefresh = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, authtest.Faults{KeepRefresh: true}, nil)
			w.logIn()
			old := w.handle.Authorization()
			w.issuer.Set(set)
			w.issuer.Revoke(false)
			if _, v := w.get(w.handle); v.Again || v.Err == nil || errors.Is(v.Err, ErrNeedsLogin) {
				t.Errorf("verdict %+v, want a temporary error", v)
			}
			if r := w.report(); w.handle.Authorization() != old || r.Phase != "stale" {
				t.Fatalf("phase %s, want stale with the old token", r.Phase)
			}
			if r, ok := decode(w.store.get("files"), w.server.URL, oauth.Config{}); !ok || r.Token.Refresh == "" {
				t.Error("the login was removed from the store")
			}
		})
	}
}

// A server that refuses every token must not cause endless renewals.
func TestAttack68EndlessRefusals(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	w.server.Set(func(p *authtest.Protection) { p.Refuse = true })
	var last upstream.Verdict
	for range 30 {
		_, last = w.get(w.handle)
	}
	if n := w.issuer.Refreshes(); n > maxForced {
		t.Errorf("%d refreshes, want at most %d", n, maxForced)
	}
	if !errors.Is(last.Err, ErrLoop) || w.handle.Authorization() == "" {
		t.Errorf("last verdict %+v, want ErrLoop", last)
	}
}
