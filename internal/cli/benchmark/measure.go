package benchmark

import (
	"cmp"
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/bench/report"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
)

// newMeasure completes a subcommand of bench that has its own flags. validate checks the options before the run. Its
// errors are reported as usage errors.
func newMeasure(cmd *cobra.Command, validate func() error, run func(ctx context.Context, program, commit, command string, progress io.Writer) (*report.Report, error)) *cobra.Command {
	var output benchOutput
	cmd.Args = command.Args(0, 0, "")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := validate(); err != nil {
			return command.UsageError(command.HelpHint(cmd), "%w", err)
		}
		assertions, err := output.assertions(cmd, cmd.Name(), nil)
		if err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		ctx, stop := command.Interruptible(cmd)
		defer stop()
		progress := newBenchProgress(cmd.ErrOrStderr())
		result, err := run(ctx, self, cmp.Or(program.Commit(), program.Version()), benchCommand(os.Args[1:]), progress)
		progress.bar.Clear()
		if err != nil {
			return err
		}
		return output.finish(cmd, result, assertions)
	}
	output.flags(cmd)
	cmd.Flags().Bool("self", true, "measure a gateway started for this run (always on)")
	return cmd
}
