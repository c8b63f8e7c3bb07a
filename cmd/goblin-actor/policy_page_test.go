package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"goblin-actor/internal/config"
)

// S5.2.3: docs/policy.md is correct: its files are valid, and its commands print the output on the page.
func TestPolicyPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
		file, _, _ := strings.Cut(block, "```")
		_, report := config.Parse(fmt.Sprintf("block %d", i+1), []byte(file), func(string) (string, bool) { return "", false })
		if err := report.Err(); err != nil {
			t.Errorf("%v", err)
		}
		files = append(files, file)
	}
	var script, wants strings.Builder
	commands := 0
	for line := range strings.Lines(string(page)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if command, ok := strings.CutPrefix(line, "$ goblin-actor "); ok && indented {
			commands++
			fmt.Fprintf(&script, "run %s\ncmp stdout want%d\n", command, commands)
			fmt.Fprintf(&wants, "-- want%d --\n", commands)
		} else if indented && commands > 0 {
			wants.WriteString(line + "\n")
		}
	}
	if commands == 0 {
		t.Fatal("the page shows no command")
	}
	dir := t.TempDir()
	text := script.String() + "\n-- goblin.yaml --\n" + files[0] + wants.String()
	if err := os.WriteFile(filepath.Join(dir, "page.txtar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"run": func(ts *testscript.TestScript, _ bool, args []string) {
			_ = ts.Exec("goblin-actor", args...) // the command exits with an error code if the item is denied
		},
	}})
}
