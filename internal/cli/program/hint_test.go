package program

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Command lines in a hint begin with the name under which the user started the program. Other words stay as they are.
func TestHintsCanBeTyped(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ program, hint, want string }{
		{"bin/goblin-actor", `"goblin-actor list tools" lists the tools`, `"bin/goblin-actor list tools" lists the tools`},
		{"bin/goblin-actor", "run goblin-actor doctor for the cause, or goblin-actor restart files to retry now", "run bin/goblin-actor doctor for the cause, or bin/goblin-actor restart files to retry now"},
		{"bin/goblin-actor", "goblin-actor cannot do that; use /opt/goblin-actor", "goblin-actor cannot do that; use /opt/goblin-actor"},
		{"goblin-actor", `"goblin-actor list tools"`, `"goblin-actor list tools"`},
	} {
		if got := namedAs(c.hint, c.program); got != c.want {
			t.Errorf("%s: %q, want %q", c.program, got, c.want)
		}
	}
	for _, c := range []struct{ arg0, found, want string }{{"goblin-actor", "", "goblin-actor"}, {path, path, filepath.Base(path)}, {path, "", ShellPath(path)}, {"./bin/my ga", "", ShellPath("./bin/my ga")}} {
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
