package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// On a terminal, serve prints a fault at its first and tenth occurrence, and again after its server has changed. It
// reports once that a server is ready.
func TestTerminalLog(t *testing.T) {
	var b, text strings.Builder
	level := new(slog.LevelVar)
	began := time.Now()
	handler := newTerminalLog(&b, slog.NewTextHandler(&text, nil), level, began)
	log := slog.New(handler)
	bad := log.With("server", "bad")
	for i := range 12 {
		bad.Warn(status.LogServerUnavailable, "replica", 0, "reason", fmt.Sprintf("exit 1 after %d.5s; stderr: \x1b[31mno token", i), "nextAttempt", "now")
	}
	bad.Warn(status.LogServerUnavailable, "replica", 0, "reason", "exit 2")
	log.Info("session opened", "client", "x")
	log.Info(status.LogReloaded, "added", "clock", "changed", "files: args")
	bad.Warn(status.LogServerUnavailable, "replica", 0, "reason", "exit 2") // the same as before, so only counted
	log.Info(status.LogReloaded, "changed", "bad: args")                    // after the server has changed, its fault is printed again
	bad.Warn(status.LogServerUnavailable, "replica", 0, "reason", "exit 2")
	log.Warn("configuration", "warning", "goblin.yaml:1:1: hm")
	log.Error("the configuration was rejected", "err", errors.New("goblin.yaml:1:1: no\ngoblin.yaml:2:1: neither"))
	log.Warn("listen has changed")
	servers := []status.Server{{Name: "bad", State: "waiting"}, {Name: "files", State: "ready", Tools: 11, Prompts: 1}, {Name: "off", State: "disabled"}}
	handler.reportSlow(&status.Snapshot{Servers: servers}, began)
	handler.reportSlow(&status.Snapshot{Servers: servers, Waiting: []string{"files", "slow"}}, began)
	handler.reportReady(&status.Snapshot{Servers: servers}, handler.since[""].Add(800*time.Millisecond))
	handler.reportReady(&status.Snapshot{Servers: servers}, began.Add(900*time.Millisecond))
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.TrimRight(line, "\n")[len("15:04:05 "):])
	}
	want := []string{
		`✗ bad           exit 1 after 0.5s; stderr: \x1b[31mno token`,
		`✗ bad           10 times so far: exit 1 after 9.5s; stderr: \x1b[31mno token`,
		`✗ bad           exit 2`,
		`↻ configuration reloaded; added clock; changed files: args`,
		`↻ configuration reloaded; changed bad: args`,
		`✗ bad           exit 2`,
		`▲ configuration: goblin.yaml:1:1: hm`,
		`✗ the configuration was rejected: goblin.yaml:1:1: no; goblin.yaml:2:1: neither`,
		`▲ listen has changed`,
		`… still starting: files, slow (npx and uvx download packages on their first run)`,
		`✓ files         ready  11 tools, 1 prompt  0.8 s        1 of 2 ready`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// At level debug, a terminal shows the same log as a pipe.
	b.Reset()
	level.Set(slog.LevelDebug)
	bad.Info(status.LogServerReady, "replica", 0)
	if b.Len() > 0 || !strings.Contains(text.String(), `msg="`+status.LogServerReady+`" server=bad replica=0`) {
		t.Errorf("at level debug: %q and %q", b.String(), text.String())
	}
}

// The number of faults that are counted is limited.
func TestTerminalLogIsBounded(t *testing.T) {
	var b strings.Builder
	handler := newTerminalLog(&b, slog.NewTextHandler(&b, nil), slog.LevelInfo, time.Now())
	log := slog.New(handler)
	for i := range 3 * maxFaults {
		log.Warn("fault", "err", fmt.Sprint(i))
	}
	if len(handler.faults) > maxFaults+1 {
		t.Errorf("%d faults are counted", len(handler.faults))
	}
}
