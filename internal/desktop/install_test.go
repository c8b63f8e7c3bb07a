package desktop

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flag"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"os"
)

var update = flag.Bool("update", false, "rewrite expected files")

var (
	program = Ours{Command: "/usr/local/bin/goblin-actor", Args: []string{"stdio", "--config", "/home/u/goblin.yaml"}}
	address = Ours{URL: "http://127.0.0.1:8730/mcp"}
)

// TestInstall runs the archives of testdata/install: a client's file before and after Install, and the diff for users.
// File names have the form client.case. If the case contains url, the entry is an address instead of a command. Each
// archive also runs with CRLF line endings.
func TestInstall(t *testing.T) {
	paths, _ := filepath.Glob("testdata/install/*.txtar")
	if len(paths) == 0 {
		t.Fatal("no cases")
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			name, before := archive.Files[i].Name, string(archive.Files[i].Data)
			id, _, _ := strings.Cut(name, ".")
			client, ok := ByID(id)
			if !ok {
				t.Fatalf("%s: no client %s", path, id)
			}
			ours := program
			if strings.Contains(name, "url") {
				ours = address
			}
			for _, newline := range []string{"\n", "\r\n"} {
				if before == "" {
					newline = "\n"
				}
				text := strings.ReplaceAll(before, "\n", newline)
				after, err := client.Install(text, "goblin", ours)
				got := after
				if err != nil {
					got = "error: " + err.Error() + newline
				} else {
					got += "--- shown" + newline + strings.ReplaceAll(strings.Join(client.Diff(text, after, "goblin"), "\n")+"\n", "\n", newline)
					if _, err := client.Install(after, "goblin", ours); !errors.Is(err, ErrSame) {
						t.Errorf("%s: again: %v", name, err)
					}
				}
				if *update && newline == "\n" {
					archive.Files[i+1].Data = []byte(got)
				}
				if diff := cmp.Diff(strings.ReplaceAll(string(archive.Files[i+1].Data), "\n", newline), got); diff != "" {
					t.Errorf("%s: %q (-want +got):\n%s", name, newline, diff)
				}
				if _, shown, _ := strings.Cut(got, "--- shown"); strings.Contains(shown, "hunter2") {
					t.Errorf("%s: the diff contains a secret:\n%s", name, shown)
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

// TestSnippet checks the format of each client in a new file.
func TestSnippet(t *testing.T) {
	for _, c := range Clients {
		for _, ours := range []Ours{program, address} {
			if ours.URL != "" && !c.TakesURL() {
				continue
			}
			after, err := c.Install("", "goblin", ours)
			if err != nil || after != c.Snippet("goblin", ours) {
				t.Errorf("%s: %v\n%s\n%s", c.ID, err, after, c.Snippet("goblin", ours))
			}
			found, err := c.Servers(after, "", host("linux", "/home/u"))
			if err != nil || len(found) != 1 || found[0].Name != "goblin" {
				t.Errorf("%s: %+v, %v", c.ID, found, err)
			}
		}
	}
}

// TestInstallRefuses checks that invalid or ambiguous files are not changed, and that errors do not quote them.
func TestInstallRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"syntax": `{"mcpServers": {"a": {"command": "hunter2" "x"}}}`, "literal": `{"a": hunter2}`, "text": `{"a": "hunter2\q"}`, "list": `[]`,
		"cut": `{"mcpServers": {`, "two": `{} {}`, "key": `{a: 1}`, "twice": `{"mcpServers": {}, "mcpServers": {}}`,
		"ours twice": `{"mcpServers": {"goblin": {}, "goblin": {}}}`, "no object": `{"mcpServers": []}`, "no entry": `{"mcpServers": {"goblin": 1}}`,
		"deep": strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "many": "[" + strings.Repeat("0,", 1<<20) + "0]",
		"large": "{\"a\": \"" + strings.Repeat("x", MaxFileBytes) + "\"}", "bytes": "{\"a\": \"\xff\"} // \xff", "single": "{'a': 1}",
		"hidden by a comment": `/* " */ ` + strings.Repeat("[", MaxFileBytes/2), "hidden by a line": "// \"\n" + strings.Repeat("[", MaxFileBytes/2),
		"hidden by a text": "\"a\n" + strings.Repeat("[", MaxFileBytes/2), "hidden by an escape": `"\\" ` + strings.Repeat("[", MaxFileBytes/2),
		"hidden by closers": strings.Repeat(`["]",`, MaxFileBytes/10), "open comment": "{} /* " + strings.Repeat("[", MaxFileBytes/2),
	} {
		started := time.Now()
		client, _ := ByID("claude-desktop")
		after, err := client.Install(text, "goblin", program)
		syntax, isSyntax := errors.AsType[*SyntaxError](err)
		if err == nil || !isSyntax && !errors.Is(err, ErrByHand) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %.200q, %v, %v", name, after, err, syntax)
		}
		if took := time.Since(started); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// FuzzInstall checks that Install fails, or adds the entry and keeps everything else, and that a second Install
// changes nothing.
func FuzzInstall(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*.txtar")
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
		for _, c := range Clients {
			after, err := c.Install(text, "goblin", program)
			if err != nil {
				if errors.Is(err, ErrByHand) || errors.Is(err, ErrSame) {
					continue
				}
				if _, ok := errors.AsType[*SyntaxError](err); !ok {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			if _, err := c.Install(after, "goblin", program); !errors.Is(err, ErrSame) {
				t.Errorf("%q: %v", after, err)
			}
			if len(c.Diff(text, after, "goblin")) == 0 {
				t.Errorf("%q became %q, but the diff is empty", text, after)
			}
			if _, err := c.Servers(after, "/", host("linux", "/")); err != nil && !errors.Is(err, ErrByHand) {
				t.Errorf("%q: %v", after, err)
			}
		}
	})
}
