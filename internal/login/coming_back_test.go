package login

import (
	"context"
	"errors"
	"net/http"
	"testing"
)

// A browser of somebody who is logged in elsewhere already is back before anybody waits for it.
func TestBackBeforeAnybodyWaits(t *testing.T) {
	b, err := NewComingBack(0)
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
		t.Errorf("before a login has begun: %d", got)
	}
	b.Expect("s")
	if got := visit("?state=other&code=c"); got != http.StatusNotFound {
		t.Errorf("with another state: %d", got)
	}
	if got := visit("?state=s&code=c"); got != http.StatusOK {
		t.Fatalf("it is back: %d", got)
	}
	query, err := b.Wait(t.Context())
	if err != nil || query.Get("code") != "c" {
		t.Errorf("waited for: %v, %v", query, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	cancel(over)
	if _, err := b.Wait(ctx); !errors.Is(err, over) {
		t.Errorf("nobody comes: %v", err)
	}
}
