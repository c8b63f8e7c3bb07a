package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/cli/command"
)

// programPath returns the path of this test binary under the name goblin-actor.
func programPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// oracleConfig writes a configuration with the oracle as its only server.
func oracleConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	text := fmt.Sprintf("mcpServers:\n  oracle: {command: %q, args: [demo, oracle], env: {GORACE: atexit_sleep_ms=20}}\n", programPath(t))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// On a terminal, call asks for each field, rejects invalid input and shows what it will send. Only the result goes to
// stdout.
func TestTerminalForm(t *testing.T) {
	p := newPTY(t)
	var out bytes.Buffer
	cmd := p.start(&out, "call", "oracle_consult", "--config", oracleConfig(t))
	p.await("oracle_consult asks:")
	p.await("  The oracle wants to know who asks.")
	p.await("Your name: ")
	p.enter("Ugg\n")
	p.await("What about (1 Gold and riches, 2 Love, 3 War and glory; enter = gold): ")
	p.enter("4\n")
	p.await(`"4" is not one of`)
	p.enter("3\n")
	p.await("Omens you saw (comma-separated: 1 crow, 2 comet, 3 toad; optional): ")
	p.enter("toad,1\n")
	p.await("enter = 30): ")
	p.enter("1000\n")
	p.await("want a whole number from 1 to 999")
	p.enter("\n")
	p.await("Your luck (number from 0 to 1; optional): ")
	p.enter("\n")
	p.await("May others hear it (yes or no; enter = false): ")
	p.enter("\n")
	p.await("Send this?")
	p.enter("y\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.shown.String())
	}
	if want := "Ugg (30), about war: Bring a bigger shovel. Beware of the toad and the crow.\n"; out.String() != want {
		t.Errorf("stdout %q, want %q", out.String(), want)
	}
}

// Several requests that arrive at once are put to the user one after the other.
func TestTerminalCouncil(t *testing.T) {
	p := newPTY(t)
	var out bytes.Buffer
	cmd := p.start(&out, "call", "oracle_council", "--config", oracleConfig(t), "--root", "file:///cave")
	for range 2 { // in any order
		p.await("oracle_council asks")
		text := p.line()
		if strings.Contains(text, "your model") {
			p.await("> ")
			p.enter("dig\n")
			p.await("> ")
			p.enter("\n")
		} else {
			p.await("Your opinion: ")
			p.enter("no\n")
			p.await("Send this?")
			p.enter("\n")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.shown.String())
	}
	if want := "The user says: no\nThe model says: dig\nThe client's roots: file:///cave\n"; out.String() != want {
		t.Errorf("stdout %q, want %q", out.String(), want)
	}
}

// Ctrl-D cancels the question, and Ctrl-C cancels the call.
func TestTerminalCtrlDAndCtrlC(t *testing.T) {
	p := newPTY(t)
	var out bytes.Buffer
	config := oracleConfig(t)
	cmd := p.start(&out, "call", "oracle_riddle", "--config", config)
	p.await("Your guess: ")
	p.enter("\x04")
	if err := cmd.Wait(); err != nil || out.String() != "You gave up: cancel.\n" {
		t.Errorf("Ctrl-D: %v, %q\n%s", err, out.String(), p.shown.String())
	}
	cmd = p.start(&out, "call", "oracle_riddle", "--config", config)
	p.await("Your guess: ")
	p.enter("\x03")
	exit := new(exec.ExitError)
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != command.ExitInterrupted {
		t.Errorf("Ctrl-C: %v\n%s", err, p.shown.String())
	}
	p.await("error: interrupted")
}
