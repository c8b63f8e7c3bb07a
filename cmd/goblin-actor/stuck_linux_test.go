package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/gatetest"
)

// A call can be interrupted even if its stderr is a full pipe from which no program reads.
func TestInterruptWithFullStderr(t *testing.T) {
	g := startGateway(t, "  clock: {command: goblin-actor, args: [demo, clock]}\n")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.Write(make([]byte, 64<<10)); err != nil { // the capacity of a pipe
		t.Fatal(err)
	}
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "call", "clock_wait", "seconds=60", "steps=600", "--connect", g.address)
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	said := ""
	rounds := 0 // changes of the number of bytes sent to clients during the call, which come from its progress
	poll(t, "progress", func() bool {
		resp, err := http.Get("http://" + g.address + "/metrics")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(text), `goblin_in_flight{server="clock"} 1`) {
			return false
		}
		_, now, _ := strings.Cut(string(text), `goblin_bytes_total{side="clients",direction="out"} `)
		if now, _, _ = strings.Cut(now, "\n"); now != said {
			said = now
			rounds++
		}
		return rounds > 3
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != command.ExitInterrupted {
			t.Errorf("%v, want exit code %d", err, command.ExitInterrupted)
		}
	case <-time.After(gatetest.Patience):
		_ = cmd.Process.Kill()
		t.Error("the command did not end")
	}
}
