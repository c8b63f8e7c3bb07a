package operate

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// The output fits 80 columns, however long reasons, hints and names are. Equal hints are printed once.
func TestStatusFitsTheTerminal(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := &status.Snapshot{Version: "v0.1.0", Listen: []string{"127.0.0.1:8730", "[::1]:8730"}, Started: now.Add(-time.Hour), Now: now, Ready: true,
		Failed:      []string{"issues", "a-server-with-a-name-longer-than-most-people-would-choose-for-it", "other"},
		ConfigFault: &status.ConfigFault{Since: now, Reason: "goblin.yaml:3:5: mcpServers.files.comand: unknown key in a sentence that goes on and on\ngoblin.yaml:9:1: x: unknown key"}}
	for _, name := range []string{"issues", "a-server-with-a-name-longer-than-most-people-would-choose-for-it", "other"} {
		s.Servers = append(s.Servers, status.Server{Name: name, State: "waiting", Replicas: 1, NextAttempt: now.Add(3 * time.Second), Queued: 3, Parked: 1000, InFlight: 1001,
			Reason: "process exited with code 1; stderr: Error: " + strings.Repeat("something is not set ", 8),
			Hint:   "the gateway retries by itself; run goblin-actor doctor for the cause, or goblin-actor restart " + name + " to retry now"})
	}
	s.Servers = append(s.Servers, status.Server{Name: "needs", State: "misconfigured", Replicas: 1, Hint: "fix the configuration: run goblin-actor config check"})
	var b strings.Builder
	if err := printStatus(&b, s, lately{}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > statusWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"configuration: reloading has failed since ", "    goblin.yaml:9:1: x", "issues: retry in 3s: process exited", "hint: needs: fix the configuration", "restart NAME to retry now"} {
		if !strings.Contains(strings.ReplaceAll(out, "\n    ", " "), want) && !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if n := strings.Count(out, "hint:"); n != 2 {
		t.Errorf("%d hints, want 2:\n%s", n, out)
	}
}

// status prints the number of calls in flight and the start of the oldest one.
func TestStatusNamesTheOldestCall(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.Local)
	s := &status.Snapshot{Now: now, Started: now, Calls: []status.Call{
		{Server: "files", Item: "read", Public: "files_read", Began: now.Add(-2 * time.Second)},
		{Server: "clock", Item: "wait", Public: "clock_wait", Began: now.Add(-200 * time.Second)},
	}}
	for _, want := range []string{"0 sessions, 2 calls in flight; the oldest started at 11:56:40 (3m20s): clock_wait", "0 sessions, 0 calls in flight"} {
		var b strings.Builder
		if err := printStatus(&b, s, lately{}); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("%v, no %q in\n%s", err, want, b.String())
		}
		s.Calls = nil
	}
}

// Until the gateway has signed a line, the status names no signed line, because there is no line n=0.
func TestStatusOfTheAuditLog(t *testing.T) {
	for signed, want := range map[uint64]string{0: "not signed since the start; its key is KEY", 7: "signed up to n=7 with KEY"} {
		var b strings.Builder
		printAudit(&b, &status.Audit{File: "a.jsonl", Key: "KEY", Sequence: 9, Signed: signed}, terminal.Palette{})
		if got := b.String(); !strings.Contains(got, "audit log: a.jsonl, line n=9, "+want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
