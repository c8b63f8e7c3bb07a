// Command goblin-actor is a gateway for the Model Context Protocol: it puts many MCP servers behind one endpoint.
//
// One file a subcommand. Each has a constructor newX() *cobra.Command that root.go adds; a command reads
// cmd.InOrStdin, writes cmd.OutOrStdout and cmd.ErrOrStderr, and returns an *exitError when the exit code
// should say more than 1. Answers go to stdout, everything about them (progress, logs, errors, hints) to stderr.
package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run carries out one command line and returns its exit code. It installs no signal handler: commands that
// can be interrupted do so themselves (see interruptible), serve drains.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return report(errOut, root.ExecuteContext(ctx))
}
