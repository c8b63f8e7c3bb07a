package oauth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
	"goblin-actor/internal/ssrf"
)

// A hostile authorization server serves metadata that names an honest issuer.
func TestAttack60ForeignIssuer(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{Issuer: "https://login.honest.example"})
	server := issuer.Protect(t, nil)
	if _, err := begin(t, agentOf(t, server.URL, oauth.Config{}), server.Challenge()); !errors.Is(err, oauth.ErrForeignIssuer) {
		t.Errorf("got %v, want %v", err, oauth.ErrForeignIssuer)
	}
}

// A hostile server tries to get tokens for another server.
func TestAttack61ForeignResource(t *testing.T) {
	for _, resource := range []string{"https://mail.honest.example/mcp", "http://127.0.0.1/mcp", "origin/other", "origin/mcp2", "origin/m", "https://user@origin/mcp", ""} {
		issuer := authtest.New(t, authtest.Faults{})
		server := issuer.Protect(t, nil)
		if rest, ok := cutOrigin(resource); ok {
			resource = server.Origin + rest
		}
		if resource == "" {
			resource = "?"
		}
		server.Set(func(p *authtest.Protection) { p.Resource = resource })
		if _, err := begin(t, agentOf(t, server.URL, oauth.Config{}), server.Challenge()); !errors.Is(err, oauth.ErrForeignResource) {
			t.Errorf("resource %s: got %v, want %v", resource, err, oauth.ErrForeignResource)
		}
	}
}

// A code of an honest authorization server is brought to a login at another one. It must not be sent there.
func TestAttack62MixUp(t *testing.T) {
	for name, faults := range map[string]authtest.Faults{
		"another iss":                 {Iss: "https://login.honest.example"},
		"another iss, none announced": {Iss: "https://login.honest.example", NoIss: true},
		"iss with a slash at its end": {Iss: "slash"},
		"error of another issuer":     {Iss: "https://login.honest.example", Error: "access_denied"},
	} {
		issuer := authtest.New(t, faults)
		if faults.Iss == "slash" {
			issuer.Set(func(f *authtest.Faults) { f.Iss = issuer.URL + "/" })
		}
		server := issuer.Protect(t, nil)
		a := agentOf(t, server.URL, oauth.Config{})
		login, err := begin(t, a, server.Challenge())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Redeem(t.Context(), login, answerOf(issuer.Approve(t, login.URL))); !errors.Is(err, oauth.ErrMixUp) {
			t.Errorf("%s: got %v, want %v", name, err, oauth.ErrMixUp)
		}
		if n := len(issuer.Seen("/token")); n != 0 {
			t.Errorf("%s: the code was sent to the token endpoint", name)
		}
	}
	issuer := authtest.New(t, authtest.Faults{})
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{})
	login, err := begin(t, a, server.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	answer := answerOf(issuer.Approve(t, login.URL))
	answer.Issuer = ""
	if _, err := a.Redeem(t.Context(), login, answer); !errors.Is(err, oauth.ErrMixUp) {
		t.Errorf("iss announced but missing: got %v, want %v", err, oauth.ErrMixUp)
	}
}

// An attacker makes the victim's browser submit the code of the attacker's own login.
func TestAttack63ForgedState(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{})
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{})
	login, err := begin(t, a, server.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", "guessed", login.State + "x", login.State[1:]} {
		answer := answerOf(issuer.Approve(t, login.URL))
		answer.State = state
		if _, err := a.Redeem(t.Context(), login, answer); !errors.Is(err, oauth.ErrState) {
			t.Errorf("state %q: got %v, want %v", state, err, oauth.ErrState)
		}
	}
	if n := len(issuer.Seen("/token")); n != 0 {
		t.Error("a code was sent to the token endpoint")
	}
}

// An authorization server without PKCE would accept a stolen code from any client.
func TestAttack65NoPKCE(t *testing.T) {
	for _, methods := range []any{nil, []string{}, []string{"plain"}} {
		issuer := authtest.New(t, authtest.Faults{NoPKCE: true, Methods: nil})
		if methods != nil {
			issuer.SetMetadata("code_challenge_methods_supported", methods)
		}
		server := issuer.Protect(t, nil)
		if login, err := begin(t, agentOf(t, server.URL, oauth.Config{}), server.Challenge()); !errors.Is(err, oauth.ErrNoPKCE) {
			t.Errorf("%v: got %v, %v, want %v", methods, login, err, oauth.ErrNoPKCE)
		}
	}
}

// The token endpoint redirects the refresh token to another host.
func TestAttack69TokenRedirect(t *testing.T) {
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"x","token_type":"Bearer"}`))
	}))
	defer thief.Close()
	issuer := authtest.New(t, authtest.Faults{})
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{})
	login, token := logIn(t, a, issuer, server.Challenge())
	issuer.Set(func(f *authtest.Faults) { f.TokenRedirect = thief.URL })
	if _, err := a.Refresh(t.Context(), login.Site, login.Client, token); !errors.Is(err, ssrf.ErrForbidden) || oauth.GrantEnded(err) {
		t.Errorf("got %v, want %v", err, ssrf.ErrForbidden)
	}
	if stolen.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// Infinite metadata is cut off by size, so it neither fills the memory nor blocks.
func TestAttack71EndlessMetadata(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{Endless: true})
	server := issuer.Protect(t, nil)
	began := time.Now()
	if _, err := begin(t, agentOf(t, server.URL, oauth.Config{}), server.Challenge()); !errors.Is(err, ssrf.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ssrf.ErrTooLarge)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("Discover took %v, want less than 9s", took)
	}
}
