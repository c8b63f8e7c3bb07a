package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/cli/program"
)

// A hint can be typed as it stands: it names the program as the user started it.
func TestHintsNameTheProgramAsItWasStarted(t *testing.T) {
	defer program.SetName("bin/goblin-actor")()
	var out bytes.Buffer
	cli.Run(t.Context(), []string{"status", "--connect", filepath.Join(t.TempDir(), "nothing.sock")}, strings.NewReader(""), &out, &out)
	if want := `hint: start one with "bin/goblin-actor serve"; `; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, &out)
	}
}

// Every command can be named in a hint, and no other.
func TestHintsKnowEveryCommand(t *testing.T) {
	var names []string
	for _, cmd := range cli.NewRoot().Commands() {
		names = append(names, cmd.Name())
	}
	if slices.Sort(names); !slices.Equal(names, program.CommandNames) {
		t.Errorf("the commands are %q; commandNames lists %q", names, program.CommandNames)
	}
}
