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

// Patience limits every wait that has no limit of its own, to detect hangs. It is long because starting a process has
// taken half a minute on a busy machine.
const Patience = 5 * time.Minute

// WaitFor polls until done returns true. It fails the test with detail after Patience.
func WaitFor(t *testing.T, what string, done func() (ok bool, detail string)) {
	t.Helper()
	late := time.NewTimer(Patience)
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
			t.Fatalf("waited %s for %s: %s", Patience, what, detail)
		case <-tick.C:
		}
	}
}

// Within repeats a measurement until it is at most limit, up to ten times, since other processes on this machine may
// slow down some of the attempts.
func Within(t *testing.T, limit time.Duration, what string, try func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 10 {
		took = append(took, try())
		if t.Failed() || took[len(took)-1] <= limit {
			t.Logf("%s: %s", what, took)
			return
		}
	}
	t.Errorf("%s: %s, want at most %s", what, took, limit)
}

// WaitReady waits until the gateway at base is ready.
func WaitReady(t *testing.T, base string) {
	t.Helper()
	WaitFor(t, "the gateway to be ready", func() (bool, string) {
		code, page := Get(base + "/readyz")
		return code == http.StatusOK, page
	})
}

// Get fetches a page. On an error it returns status 0 and the error as page.
func Get(url string) (status int, page string) {
	resp, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// Snapshot fetches the status of the gateway whose runtime directory is dir.
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
