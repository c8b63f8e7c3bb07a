package gatetest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/status"
)

// WaitFor polls until done says so; detail is shown when it never does.
func WaitFor(t *testing.T, limit time.Duration, what string, done func() (ok bool, detail string)) {
	t.Helper()
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, detail := done()
		if ok {
			return
		}
		select {
		case <-late.C:
			t.Fatalf("waited %s for %s: %s", limit, what, detail)
		case <-tick.C:
		}
	}
}

// WaitReady waits until the gateway at base says that it is ready.
func WaitReady(t *testing.T, base string, limit time.Duration) {
	t.Helper()
	WaitFor(t, limit, "the gateway to be ready", func() (bool, string) {
		code, page := Get(base + "/readyz")
		return code == http.StatusOK, page
	})
}

// Get fetches a page; status 0 is an error, which is the page then.
func Get(url string) (status int, page string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// Snapshot asks the admin socket of the gateway that has this directory.
func Snapshot(ctx context.Context, dir string) (*status.Snapshot, error) {
	sockets, err := filepath.Glob(filepath.Join(dir, "goblin-actor", "*.sock"))
	if err != nil {
		return nil, err
	}
	if len(sockets) != 1 {
		return nil, fmt.Errorf("admin sockets: %q, want one", sockets)
	}
	return admin.Fetch(ctx, sockets[0])
}
