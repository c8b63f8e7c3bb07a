package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
	"goblin-actor/internal/secret"
)

// newMeasure completes a command of bench that has flags and options of its own. run validates its options first; what is wrong
// with them is wrong usage.
func newMeasure(cmd *cobra.Command, validate func() error, run func(ctx context.Context, program, commit, command string, progress io.Writer) (*bench.Report, error)) *cobra.Command {
	var out string
	cmd.Args = takes(0, 0, "")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := validate(); err != nil {
			return usageError(helpHint(cmd), "%w", err)
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		command := "goblin-actor " + strings.Join(secret.Arguments(os.Args[1:]), " ")
		report, err := run(ctx, program, cmp.Or(buildCommit(), buildVersion()), command, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if out != "" {
			if err := report.Save(out); err != nil {
				return err
			}
		}
		return report.WriteTable(cmd.OutOrStdout())
	}
	cmd.Flags().StringVar(&out, "out", "", "directory for report.json and report.md")
	cmd.Flags().Bool("self", true, "measure a gateway started for this run; there is no other way")
	return cmd
}
