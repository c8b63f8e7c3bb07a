package main

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/bench"
)

// newMeasure completes a command of bench that has flags and options of its own. run validates its options first; what is wrong
// with them is wrong usage.
func newMeasure(cmd *cobra.Command, validate func() error, run func(ctx context.Context, program, commit, command string, progress io.Writer) (*bench.Report, error)) *cobra.Command {
	var output benchOutput
	cmd.Args = takes(0, 0, "")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := validate(); err != nil {
			return usageError(helpHint(cmd), "%w", err)
		}
		assertions, err := output.assertions(cmd, bench.Options{Kind: cmd.Name()})
		if err != nil {
			return err
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		progress := newBenchProgress(cmd.ErrOrStderr())
		report, err := run(ctx, program, cmp.Or(buildCommit(), buildVersion()), benchCommand(os.Args[1:]), progress)
		progress.bar.clear()
		if err != nil {
			return err
		}
		return output.finish(cmd, report, assertions)
	}
	output.flags(cmd)
	cmd.Flags().Bool("self", true, "measure a gateway started for this run; there is no other way")
	return cmd
}
