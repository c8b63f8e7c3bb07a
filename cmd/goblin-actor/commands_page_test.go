package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goblin-actor/internal/cli"
)

var updateCommands = flag.Bool("update-commands", false, "rewrite the list of commands in docs/commands.md from the commands' help")

const (
	commandsBegin = "<!-- commands: generated from the commands' help -->\n"
	commandsEnd   = "<!-- end of commands -->\n"
)

// TestCommandsPage compares docs/commands.md with the commands: its generated list, the commands in its first table,
// and the flags that it mentions.
func TestCommandsPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "commands.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	head, rest, ok1 := strings.Cut(page, commandsBegin)
	_, tail, ok2 := strings.Cut(rest, commandsEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no markers for the list of commands", path)
	}
	root := cli.NewRoot()
	list, flags := describeCommands(root)
	if want := head + commandsBegin + list + commandsEnd + tail; *updateCommands {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("the list of commands in %s is outdated; run make docs", path)
	}
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]*`).FindAllString(head+tail, -1) {
		if !flags[name] {
			t.Errorf("%s mentions the flag %s, which no command has", path, name)
		}
	}
	_, table, _ := strings.Cut(head, "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, cmd := range root.Commands() {
		if name := cmd.Name(); cmd.Runnable() && !cmd.Hidden && name != "version" && !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the first table of %s lacks the command %s", path, name)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(table, -1) {
		if cmd, _, err := root.Find([]string{m[1]}); err != nil || cmd == root {
			t.Errorf("the first table of %s names %s, which is not a command", path, m[1])
		}
	}
}

// describeCommands returns a Markdown table of all commands, and the set of their flags.
func describeCommands(root *cobra.Command) (list string, flags map[string]bool) {
	var b strings.Builder
	b.WriteString("| command | purpose |\n|---|---|\n")
	flags = map[string]bool{"--help": true}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags["--"+f.Name] = true })
		use := strings.TrimSuffix(strings.TrimPrefix(cmd.UseLine(), root.Name()+" "), " [flags]")
		if group := len(cmd.Commands()) > 0 && !strings.Contains(cmd.Use, " "); !group {
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", `\|`), strings.ReplaceAll(cmd.Short, "|", `\|`))
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(root)
	return b.String(), flags
}
