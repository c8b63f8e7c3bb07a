// Pages writes the manual pages and shell completions of goblin-actor, for packages: go run ./contrib/release/pages DIR TIME.
//
// It creates DIR/man/*.1 and DIR/completions/goblin-actor.{bash,zsh,fish,ps1}. TIME, in seconds since 1970, is the date in the manual
// pages. It is the time of the commit, so that equal sources give equal pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"goblin-actor/internal/cli"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "error: pages requires a directory to write to and a time in seconds since 1970")
		os.Exit(2)
	}
	seconds, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err == nil {
		err = write(os.Args[1], time.Unix(seconds, 0).UTC())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func write(dir string, date time.Time) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := cli.NewRoot()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "goblin-actor", Manual: "goblin-actor"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return err
	}
	file := func(shell string) string { return filepath.Join(completions, "goblin-actor."+shell) }
	for shell, generate := range map[string]func(*cobra.Command, string) error{
		"bash": func(c *cobra.Command, path string) error { return c.GenBashCompletionFileV2(path, true) },
		"zsh":  (*cobra.Command).GenZshCompletionFile,
		"fish": func(c *cobra.Command, path string) error { return c.GenFishCompletionFile(path, true) },
		"ps1":  (*cobra.Command).GenPowerShellCompletionFileWithDesc,
	} {
		if err := generate(root, file(shell)); err != nil {
			return err
		}
	}
	return nil
}
