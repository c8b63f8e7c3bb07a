package cli

import (
	"context"
	"io"

	"goblin-actor/internal/cli/command"
)

// Run runs a command line and returns its exit code. It installs no signal handler: commands that signals can interrupt
// install their own (command.Interruptible), and serve drains when a signal arrives.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := NewRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return command.PrintError(errOut, root.ExecuteContext(ctx))
}
