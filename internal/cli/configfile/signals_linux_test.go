package configfile

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A signal that arrives while files are written takes effect afterwards, exactly once.
func TestSignalsWaitForFiles(t *testing.T) {
	seen := make(chan os.Signal, 8) // also prevents the signal from ending the test
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
	next("the held signal")
	release()
	next("the held signal after release")
	release()
	if len(seen) != 0 {
		t.Error("the signal took effect twice")
	}
}
