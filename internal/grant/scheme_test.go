package grant_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goblin-actor/internal/grant"
)

// A server that asks for Basic authentication has no login: the error names the scheme and the header to set.
func TestASchemeWithoutALogin(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	challenge := grant.ParseChallenge([]string{`Basic realm="staff"`})
	_, err := agentOf(t, server.URL, grant.Config{}).Discover(t.Context(), challenge)
	if !errors.Is(err, grant.ErrNoLogin) || !strings.Contains(err.Error(), "it asks for Basic authentication") ||
		grant.Hint(err) != `set headers: {Authorization: "Basic ${CREDENTIALS}"} at the server` {
		t.Errorf("got %v; hint %s", err, grant.Hint(err))
	}
	if c := grant.ParseChallenge([]string{`Basic realm="staff"`, `Bearer scope="a"`}); c.Scheme != "" || !c.Bearer {
		t.Errorf("Basic and Bearer: got %+v, want Bearer alone", c)
	}
}

// A server that asks for a bearer token, and whose host publishes no OAuth metadata and registers no client, is named as that.
func TestBearerWithoutMetadata(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	a := agentOf(t, server.URL, grant.Config{})
	site, err := a.Discover(t.Context(), grant.ParseChallenge([]string{"Bearer"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Register(t.Context(), site, "http://127.0.0.1:1/callback")
	if !errors.Is(err, grant.ErrNoLogin) || !strings.Contains(err.Error(), "it asks for a bearer token, but "+server.URL+" publishes no OAuth metadata") ||
		grant.Hint(err) != `set headers: {Authorization: "Bearer ${TOKEN}"} at the server` {
		t.Errorf("got %v; hint %s", err, grant.Hint(err))
	}
}
