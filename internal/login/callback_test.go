package login

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

// The redirect may arrive before Wait is called, because an authorization server with an active session redirects
// immediately.
func TestRedirectBeforeWait(t *testing.T) {
	b, err := ListenCallback(0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	visit := func(query string) int {
		t.Helper()
		resp, err := http.Get(b.URL + query)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if got := visit("?state=s&code=early"); got != http.StatusNotFound {
		t.Errorf("before Expect: got status %d, want 404", got)
	}
	b.Expect("s")
	if got := visit("?state=other&code=c"); got != http.StatusNotFound {
		t.Errorf("with another state: got status %d, want 404", got)
	}
	if got := visit("?state=s&code=c"); got != http.StatusOK {
		t.Fatalf("with the expected state: got status %d, want 200", got)
	}
	query, err := b.Wait(t.Context())
	if err != nil || query.Get("code") != "c" {
		t.Errorf("Wait: got %v, %v; want code c", query, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if _, err := b.Wait(ctx); !errors.Is(err, over) {
		t.Errorf("Wait with a canceled context: got %v, want its cause", err)
	}
}
