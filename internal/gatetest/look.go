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

// Patience is how long anything may take that has no time of its own. It catches what hangs: on a machine that is busy with
// other things a process has taken half a minute to start.
const Patience = 5 * time.Minute

// WaitFor polls until done says so; detail is shown when it never does.
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

// Within has try measure something until it takes no longer than limit, ten times at most: what else this machine does
// is no fault of the gateway's, but it does not do it every time.
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

// WaitReady waits until the gateway at base says that it is ready.
func WaitReady(t *testing.T, base string) {
	t.Helper()
	WaitFor(t, "the gateway to be ready", func() (bool, string) {
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
