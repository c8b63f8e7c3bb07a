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

// A redirect takes the key nowhere else: neither to another host, nor to the same one without TLS. Within the origin it is followed.
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
		if err := c.Logout(t.Context(), Wish{Server: "s"}); err == nil {
			t.Errorf("a redirect to %s was followed", target)
		}
	}
	target = "/moved"
	if err := c.Logout(t.Context(), Wish{Server: "s"}); err != nil {
		t.Errorf("within the origin: %v", err)
	}
	if elsewhere.Load() != 0 || here.Load() != 1 {
		t.Errorf("elsewhere %d requests, here %d", elsewhere.Load(), here.Load())
	}
}

// Who logs out waits some seconds for an authorization server that hangs, and is told that it has not answered.
func TestLogoutIsAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(func() string { return "" })
		p.Serve(&gate{})
		began := time.Now()
		w := httptest.NewRecorder()
		p.For(identity.Local, "logout").ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"server":"hung"}`)))
		if got := time.Since(began); got != logoutWait || w.Code != http.StatusAccepted || !strings.Contains(w.Body.String(), ErrUnheard.Error()) {
			t.Errorf("after %v: %d %s", got, w.Code, w.Body)
		}
	})
}
