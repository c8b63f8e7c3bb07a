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

// Users can copy command lines from hints: they begin with the name under which the program was started.
func TestHintsNameProgramAsStarted(t *testing.T) {
	defer program.SetName("bin/goblin-actor")()
	var out bytes.Buffer
	cli.Run(t.Context(), []string{"status", "--connect", filepath.Join(t.TempDir(), "nothing.sock")}, strings.NewReader(""), &out, &out)
	if want := `hint: start one with "bin/goblin-actor serve"; `; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, &out)
	}
}

// program.CommandNames lists every command and no other names.
func TestHintsNameEveryCommand(t *testing.T) {
	var names []string
	for _, cmd := range cli.NewRoot().Commands() {
		names = append(names, cmd.Name())
	}
	if slices.Sort(names); !slices.Equal(names, program.CommandNames) {
		t.Errorf("the commands are %q; program.CommandNames lists %q", names, program.CommandNames)
	}
}
