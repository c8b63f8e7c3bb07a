// Pages writes the manual pages and shell completions of goblin-actor, for packages: go run ./contrib/release/pages DIR.
//
// It creates DIR/man/*.1 and DIR/completions/goblin-actor.{bash,zsh,fish,ps1}. The date in the manual pages comes from
// $SOURCE_DATE_EPOCH, so that equal sources give equal pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"goblin-actor/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "error: pages requires the directory to write to")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := cli.NewRoot()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	header := &doc.GenManHeader{Section: "1", Source: "goblin-actor", Manual: "goblin-actor"}
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
