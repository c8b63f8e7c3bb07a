package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"os"
)

// change applies one command such as `disable files/read` to text.
func change(text, line string) (string, error) {
	words := strings.Fields(line)
	server, tool, _ := strings.Cut(words[1], "/")
	switch {
	case words[0] == "add":
		e := Entry{Name: words[1]}
		for _, word := range words[2:] {
			name, value, isEnv := strings.Cut(word, "=")
			switch {
			case strings.HasPrefix(word, "http"):
				e.URL = word
			case isEnv:
				e.Env = append(e.Env, Variable{name, value})
			case e.Command == "":
				e.Command = word
			default:
				e.Args = append(e.Args, word)
			}
		}
		return AddServer("goblin.yaml", text, e)
	case words[0] == "remove":
		return RemoveServer("goblin.yaml", text, words[1])
	case tool != "":
		return SetToolDisabled("goblin.yaml", text, server, tool, words[0] == "disable")
	}
	return SetDisabled("goblin.yaml", text, server, words[0] == "disable")
}

// TestEdit runs the archives of testdata/edit: a file, commands, and the expected result, with LF and with CRLF line endings.
func TestEdit(t *testing.T) {
	paths, err := filepath.Glob("testdata/edit/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d archives in testdata/edit, error %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+2 < len(archive.Files); i += 3 {
			before, want := string(archive.Files[i].Data), string(archive.Files[i+2].Data)
			name := filepath.Base(path) + "/" + archive.Files[i].Name
			for _, newline := range []string{"\n", "\r\n"} {
				got := strings.ReplaceAll(before, "\n", newline)
				for line := range strings.Lines(string(archive.Files[i+1].Data)) {
					next, err := change(got, line)
					if err != nil {
						next = got + "error: " + err.Error() + newline
						got = next
						break
					}
					got = next
				}
				if *update && newline == "\n" {
					archive.Files[i+2].Data = []byte(got)
					want = got
				}
				if diff := cmp.Diff(strings.ReplaceAll(want, "\n", newline), got); diff != "" {
					t.Errorf("%s: %q (-want +got):\n%s\ngot:\n%s", name, newline, diff, got)
				}
			}
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestEditErrors(t *testing.T) {
	for _, c := range []struct {
		text, line string
		want       error
	}{
		{"mcpServers:\n  a: {command: x}\n", "remove b", ErrNoServer},
		{"mcpServers:\n  a: {command: x}\n", "enable a", ErrSame},
		{"mcpServers:\n  a: {command: x}\n", "enable a/b", ErrSame},
		{"mcpServers:\n  a: {command: x, disabled: true}\n", "disable a", ErrSame},
		{"mcpServers:\n  a: {command: x, tools: {disabled: [b]}}\n", "disable a/b", ErrSame},
		{"x: &x {command: x}\nmcpServers:\n  a: *x\n", "disable a", nil},                      // x is not a key of the configuration
		{"mcpServers:\n  a: &x {command: x}\n  b: *x\n", "disable a", ErrByHand},              // b would be disabled, too
		{"mcpServers:\n  a: &x\n    command: x\n  b: *x\n", "disable a", ErrByHand},           // b would be disabled, too
		{"mcpServers:\n  a: &x {command: x}\n  b: *x\n", "disable b", ErrByHand},              // b is only an alias
		{"mcpServers:\n  a: &x {command: x}\n  b: *x\n", "remove a", ErrByHand},               // the alias would dangle
		{"? mcpServers\n: a: {command: x}\n", "disable a", ErrByHand},                         // an explicit key
		{"mcpServers:\n  a: {comand: x}\n", "disable a", nil},                                 // invalid before
		{"mcpServers:\n  a: {command: x}\n", "add b http://", nil},                            // invalid afterwards
		{"mcpServers:\n  A: {command: x}\n", "add a x", nil},                                  // the same name
		{"mcpServers:\n  a:\n    command: x\n    disabled: |\n      true\n", "enable a", nil}, // not a boolean
	} {
		got, err := change(c.text, c.line)
		if err == nil || got != "" || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%q %s: %q, %v; want %v", c.text, c.line, got, err, c.want)
		}
	}
	_, err := AddServer("f", "mcpServers:\n  a: {command: x}\n", Entry{Name: "b", URL: "ftp://x"})
	if invalid, ok := errors.AsType[*InvalidError](err); !ok || !invalid.After {
		t.Errorf("adding a server with a bad address: %v, want an InvalidError with After", err)
	}
}

// The name of a tool comes from its server, so it is never read as a reference. The gateway would otherwise run the
// program of ${command:…} when it loads the file.
func TestDisableHostileTool(t *testing.T) {
	dir := t.TempDir()
	for _, before := range []string{"mcpServers:\n  a: {command: x}\n", "mcpServers:\n  a:\n    command: x\n    tools:\n      disabled:\n        - b\n", `{"mcpServers": {"a": {"command": "x", "tools": {"disabled": ["b"]}}}}`} {
		for _, tool := range []string{"${command:touch " + dir + "/owned}", "${file:/etc/passwd}", "${HOME}", "$${HOME}", "$$", "a$", "]", "x: y", "# no", "\x1b[2J\u202e", "'\"\n- c"} {
			off, err := SetToolDisabled("goblin.yaml", before, "a", tool, true)
			if err != nil {
				t.Errorf("%q in %q: %v", tool, before, err)
				continue
			}
			path := filepath.Join(dir, "goblin.yaml")
			if err := os.WriteFile(path, []byte(off), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, report := Load(path)
			if cfg == nil {
				t.Fatalf("%q in %q: %v", tool, before, report.Err())
			}
			if got := cfg.Servers[0].Tools.Disabled; got[len(got)-1] != tool {
				t.Errorf("%q in %q disables %q", tool, off, got)
			}
			if _, err := SetToolDisabled("goblin.yaml", off, "a", tool, true); !errors.Is(err, ErrSame) {
				t.Errorf("%q is disabled twice: %v, want ErrSame", tool, err)
			}
			if on, err := SetToolDisabled("goblin.yaml", off, "a", tool, false); err != nil || strings.Contains(on, "$") || len(Entries(on)[0].ToolsDisabled) != len(Entries(before)[0].ToolsDisabled) {
				t.Errorf("%q enabled again in %q: %q, %v; want the file as before", tool, off, on, err)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "owned")); len(left) > 0 || err != nil {
		t.Error("the program in a tool's name was run", err)
	}
}

// A group has the tools of its first member, and is not a server that can be disabled.
func TestEditGroup(t *testing.T) {
	const text = "mcpServers:\n  a: {command: x, group: all}\n  b: {command: x, group: all}\n"
	if got, err := SetToolDisabled("goblin.yaml", text, "all", "t", true); err != nil || got != "mcpServers:\n  a: {command: x, group: all, tools: {disabled: [t]}}\n  b: {command: x, group: all}\n" {
		t.Errorf("disable all/t: %q, %v; want the first member edited", got, err)
	}
	if _, err := SetDisabled("goblin.yaml", text, "all", true); !errors.Is(err, ErrNoServer) || err.Error() != `no such server "all"; it is a group of servers: a, b` {
		t.Errorf("disable all: %v, want ErrNoServer that names the members", err)
	}
}

// A file of another client says enabled and disabledTools. An edit changes these keys.
func TestEditForeignKeys(t *testing.T) {
	for _, c := range []struct{ before, line, after string }{
		{`{"mcpServers": {"a": {"command": "x", "enabled": false}}}`, "enable a", `{"mcpServers": {"a": {"command": "x", "enabled": true}}}`},
		{`{"mcpServers": {"a": {"command": "x", "enabled": true}}}`, "disable a", `{"mcpServers": {"a": {"command": "x", "enabled": false}}}`},
		{`{"mcpServers": {"a": {"command": "x", "disabledTools": ["t"]}}}`, "disable a/u", `{"mcpServers": {"a": {"command": "x", "disabledTools": ["t", "u"]}}}`},
		{`{"mcpServers": {"a": {"command": "x", "disabledTools": ["t", "u"]}}}`, "enable a/t", `{"mcpServers": {"a": {"command": "x", "disabledTools": ["u"]}}}`},
	} {
		got, err := change(c.before, c.line)
		if err != nil || got != c.after {
			t.Errorf("%s in %s: %s, %v; want %s", c.line, c.before, got, err, c.after)
		}
		if _, err := change(got, c.line); !errors.Is(err, ErrSame) {
			t.Errorf("%s again in %s: %v, want ErrSame", c.line, got, err)
		}
	}
}

// FuzzEdit checks that an edit fails or produces a valid file, and that adding and removing a server keeps every
// comment line.
func FuzzEdit(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(Entries(text)) != len(Names(text)) {
			t.Errorf("%q: Entries %v, Names %v; want one each for every server", text, Entries(text), Names(text))
		}
		added, err := AddServer("f.yaml", text, Entry{Name: "zz", Command: "x", Args: []string{"-y", "a: b", "${X}", "é\x1b\x7f"}})
		if err != nil {
			return
		}
		if _, report := Parse("f.yaml", []byte(added), func(string) (string, bool) { return "", true }); report.Err() != nil {
			t.Errorf("%q became %q: %v", text, added, report.Err())
		}
		for _, line := range []string{"disable zz", "disable zz/tool", "enable zz/tool"} {
			if more, err := change(added, line); err == nil {
				added = more
			} else if !errors.Is(err, ErrByHand) && !errors.Is(err, ErrSame) {
				t.Errorf("%s in %q: %v", line, added, err)
			}
		}
		removed, err := RemoveServer("f.yaml", added, "zz")
		if err != nil {
			return
		}
		for line := range strings.Lines(text) {
			if word := strings.TrimSpace(line); strings.HasPrefix(word, "#") && !strings.Contains(removed, word) {
				t.Errorf("%q lost %q:\n%s", text, word, removed)
			}
		}
	})
}
