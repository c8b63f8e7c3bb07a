package main

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/client"
)

// A hint can be typed as it stands: it names the program as the user started it.
func TestHintsNameTheProgramAsItWasStarted(t *testing.T) {
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		t.Fatal(err)
	}
	defer func(name func() string) { programName = name }(programName)
	programName = func() string { return "bin/goblin-actor" }
	var out bytes.Buffer
	run(t.Context(), []string{"status", "--connect", filepath.Join(t.TempDir(), "nothing.sock")}, strings.NewReader(""), &out, &out)
	if want := `hint: start one with "bin/goblin-actor serve": `; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, &out)
	}
	for _, c := range []struct{ program, hint, want string }{
		{"bin/goblin-actor", `"goblin-actor list tools" shows what there is`, `"bin/goblin-actor list tools" shows what there is`},
		{"bin/goblin-actor", "goblin-actor doctor says what to do, goblin-actor restart files tries at once", "bin/goblin-actor doctor says what to do, bin/goblin-actor restart files tries at once"},
		{"bin/goblin-actor", "goblin-actor cannot do that; use /opt/goblin-actor itself", "goblin-actor cannot do that; use /opt/goblin-actor itself"},
		{"goblin-actor", `"goblin-actor list tools"`, `"goblin-actor list tools"`},
	} {
		if got := namedAs(c.hint, c.program); got != c.want {
			t.Errorf("%s: %q, want %q", c.program, got, c.want)
		}
	}
	for _, c := range []struct{ arg0, found, want string }{{"goblin-actor", "", "goblin-actor"}, {path, path, "goblin-actor"}, {path, "", shellPath(path)}, {"./bin/my ga", "", shellPath("./bin/my ga")}} {
		if got := startedAs(c.arg0, func(string) (string, error) {
			if c.found == "" {
				return "", errors.New("not found")
			}
			return c.found, nil
		}); got != c.want {
			t.Errorf("started as %s: %s, want %s", c.arg0, got, c.want)
		}
	}
}

// OVERLOADED has many causes; its hint fits the one that the message names.
func TestOverloadedHintFitsItsCause(t *testing.T) {
	for message, want := range map[string]string{
		"the audit log cannot be written, and no call may go without it (audit.required)":       "audit log cannot be written",
		"too many calls in flight for this client (limits.maxInFlightPerClient)":                "limits.maxInFlightPerClient",
		"there are as many sessions as may be, and all are in use (limits.maxSessions)":         "limits.maxSessions",
		"the gateway holds as many bytes as it may (limits.maxBufferedBytes); nothing was sent": "limits.maxBufferedBytes",
		"too many subscriptions in this session":                                                "end some of them",
		"something else":                                                                        "try again later",
	} {
		err := failed(&client.RPCError{Code: -31010, Message: message, Data: []byte(`{"code":"OVERLOADED"}`)})
		if e, ok := errors.AsType[*exitError](err); !ok || !strings.Contains(e.hint, want) || strings.Contains(e.hint, "of this client run") {
			t.Errorf("%s: hint %q, want one with %q", message, e.hint, want)
		}
	}
}
