package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// install shows the changes and asks for confirmation. If another program changes the file before the answer, install
// does not overwrite it.
func TestInstallConfirmation(t *testing.T) {
	config := oracleConfig(t)
	for _, c := range []struct {
		name, answer, meanwhile string
		written                 bool
		says                    string
	}{
		{"yes", "y\n", "", true, ""},
		{"no", "n\n", "", false, "error: nothing was written"},
		{"enter means no", "\n", "", false, "error: nothing was written"},
		{"end of input", "\x04", "", false, "error: nothing was written"},
		{"invalid answer first", "maybe\nyes\n", "", true, ""},
		{"file changed before the answer", "y\n", `{"mcpServers": {"new": {"command": "x"}}}`, false, "error: .*the file has changed since it was read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mcp.json")
			before := "{\"mcpServers\": {}} // mine\n"
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			p := newPTY(t)
			var out bytes.Buffer
			cmd := p.start(&out, "config", "install", "cursor", "--config", config, "--file", path)
			p.await("Write these changes? [N]o, [y]es: ")
			want := before
			if c.meanwhile != "" {
				want = c.meanwhile
				if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p.enter(c.answer)
			if head, tail, ok := strings.Cut(c.says, ".*"); ok || c.says != "" {
				p.await(head)
				p.await(tail)
			}
			err := cmd.Wait()
			if _, failed := err.(*exec.ExitError); failed == c.written {
				t.Errorf("%v", err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if c.written != bytes.Contains(after, []byte(`"goblin"`)) || !c.written && string(after) != want || !strings.Contains(out.String(), "+ ") {
				t.Errorf("the file is %s\nshown:\n%s", after, out.String())
			}
		})
	}
}

// import shows the changes and asks for confirmation before it writes.
func TestImportConfirmation(t *testing.T) {
	for answer, written := range map[string]bool{"y\n": true, "n\n": false} {
		dir := t.TempDir()
		theirs, ours := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "goblin.yaml")
		if err := os.WriteFile(theirs, []byte(`{"mcpServers": {"s": {"command": "npx -y x"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		p := newPTY(t)
		var out bytes.Buffer
		cmd := p.start(&out, "config", "import", "cursor", "--file", theirs, "--into", ours)
		p.await("Write these changes? [N]o, [y]es: ")
		if _, err := os.Stat(ours); err == nil {
			t.Error("file written before the answer")
		}
		p.enter(answer)
		if err := cmd.Wait(); (err == nil) != written {
			t.Errorf("%q: %v", answer, err)
		}
		if _, err := os.Stat(ours); (err == nil) != written || !strings.Contains(out.String(), "command: npx") {
			t.Errorf("%q: written %v\n%s", answer, err == nil, out.String())
		}
	}
}
