package oauth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/oauth"
)

// A server that asks for Basic authentication has no login: the error names the scheme and the header to set.
func TestSchemeWithoutLogin(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	challenge := oauth.ParseChallenge([]string{`Basic realm="staff"`})
	_, err := agentOf(t, server.URL, oauth.Config{}).Discover(t.Context(), challenge)
	if !errors.Is(err, oauth.ErrNoLogin) || !strings.Contains(err.Error(), "the server asks for Basic authentication") ||
		oauth.Hint(err) != `set headers: {Authorization: "Basic ${CREDENTIALS}"} in the entry of the server` {
		t.Errorf("got %v; hint %s", err, oauth.Hint(err))
	}
	if c := oauth.ParseChallenge([]string{`Basic realm="staff"`, `Bearer scope="a"`}); c.Scheme != "" || !c.Bearer {
		t.Errorf("Basic and Bearer: got %+v, want Bearer alone", c)
	}
}

// A server that asks for a bearer token, and whose host publishes no OAuth metadata and registers no client, is
// reported as such.
func TestBearerWithoutMetadata(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	a := agentOf(t, server.URL, oauth.Config{})
	site, err := a.Discover(t.Context(), oauth.ParseChallenge([]string{"Bearer"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Register(t.Context(), site, "http://127.0.0.1:1/callback")
	if !errors.Is(err, oauth.ErrNoLogin) || !strings.Contains(err.Error(), "the server asks for a bearer token, but "+server.URL+" publishes no OAuth metadata") ||
		oauth.Hint(err) != `set headers: {Authorization: "Bearer ${TOKEN}"} in the entry of the server` {
		t.Errorf("got %v; hint %s", err, oauth.Hint(err))
	}
}
