package configfile

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A signal that comes while files are written takes effect when they are, and one that did not come has none.
func TestSignalsWaitForFiles(t *testing.T) {
	seen := make(chan os.Signal, 8) // also keeps the test alive
	signal.Notify(seen, syscall.SIGTERM)
	defer signal.Stop(seen)
	next := func(what string) {
		t.Helper()
		select {
		case <-seen:
		case <-time.After(time.Minute):
			t.Fatalf("no signal: %s", what)
		}
	}
	HoldSignals()()
	release := HoldSignals()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	next("the one that is held back")
	release()
	next("the same, when it takes effect")
	release()
	if len(seen) != 0 {
		t.Error("it takes effect twice")
	}
}
