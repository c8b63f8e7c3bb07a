package login

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
)

// A redirect must not send the key to another host, nor to the same host without TLS. Redirects within the origin are
// followed.
func TestKeyStaysWithinTheOrigin(t *testing.T) {
	var elsewhere, here atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var target string
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			here.Add(1)
			return
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer gateway.Close()
	c := NewClient(gateway.URL+"/login/api/", "gba_key")
	c.HTTP.Transport = gateway.Client().Transport
	for target = range map[string]bool{other.URL: true, "http://" + gateway.Listener.Addr().String(): true} {
		if err := c.Logout(t.Context(), Request{Server: "s"}); err == nil {
			t.Errorf("a redirect to %s was followed", target)
		}
	}
	target = "/moved"
	if err := c.Logout(t.Context(), Request{Server: "s"}); err != nil {
		t.Errorf("redirect within the origin: %v", err)
	}
	if elsewhere.Load() != 0 || here.Load() != 1 {
		t.Errorf("got %d requests elsewhere, want 0; %d here, want 1", elsewhere.Load(), here.Load())
	}
}

// Logout returns after logoutWait, with ErrRevocationPending, if the authorization server hangs.
func TestLogoutIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(func() string { return "" })
		p.SetGateway(&fakeGateway{})
		began := time.Now()
		w := httptest.NewRecorder()
		p.HandlerFor(identity.Local, "logout").ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"server":"hung"}`)))
		if got := time.Since(began); got != logoutWait || w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), ErrRevocationPending.Error()) {
			t.Errorf("got %d %s after %v, want 202 with ErrRevocationPending after logoutWait", w.Code, w.Body, got)
		}
	})
}
