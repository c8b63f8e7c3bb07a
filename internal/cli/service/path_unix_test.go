//go:build !windows

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The PATH is that of the login shell, whatever else the shell prints. A shell that fails, hangs or prints no PATH is an error.
func TestShellPath(t *testing.T) {
	os.Setenv("GOBLIN_TEST_SECRET", "x") // t.Setenv and Parallel exclude each other
	t.Cleanup(func() { os.Unsetenv("GOBLIN_TEST_SECRET") })
	for _, c := range []struct{ name, script, want, err string }{
		{"with a greeting", `echo Welcome; PATH=/opt/node/bin:/usr/bin:/bin; export PATH; eval "$4"; echo bye`, "/opt/node/bin:/usr/bin:/bin", ""},
		{"without other variables", `PATH=/secret$GOBLIN_TEST_SECRET:/usr/bin:/bin; export PATH; eval "$4"`, "/secret:/usr/bin:/bin", ""},
		{"fails", "exit 3", "", "printed no PATH"},
		{"other output", "echo hello", "", "printed no PATH"},
		{"empty", `printenv() { echo; }; eval "$4"`, "", `printed "" as its PATH`},
		{"hangs", "sleep 60 & sleep 60", "", "did not end"},
	} {
		shell := filepath.Join(t.TempDir(), "shell") // written before any subtest forks, which would keep the file open
		if err := os.WriteFile(shell, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := shellPath(t.Context(), shell)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}
