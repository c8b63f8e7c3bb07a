package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
)

// healthTime limits a health check; container engines and process supervisors expect an answer within seconds.
const healthTime = 5 * time.Second

// NewHealth returns the health command.
func NewHealth() *cobra.Command {
	var connect string
	var live bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check that a running gateway is ready",
		Long: `Check that a running gateway is ready to serve clients: each server has connected, has failed its first attempt, or has items known
from an earlier run, and the gateway is not shutting down. With --live, check only that its process answers. A server that is down does not make the gateway unhealthy.

The command is for health checks of containers and supervisors. It prints one line. The exit code is 0 if the gateway is ready, 1 if it
is not, and 4 if it does not answer within 5 seconds. It uses the gateway's admin socket.`,
		Example: `  goblin-actor health
  goblin-actor health --live --connect 8730`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			ctx, stop := context.WithTimeout(ctx, healthTime)
			defer stop()
			check := admin.CheckReady
			if live {
				check = admin.CheckAlive
			}
			return printHealth(ctx, cmd.OutOrStdout(), check(ctx, path))
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "check only that the process answers")
	target.NodeFlags(cmd, &connect)
	return cmd
}

// printHealth prints "ok" if a health check returned no error. Otherwise it returns the command's error.
func printHealth(ctx context.Context, w io.Writer, err error) error {
	if err == nil {
		_, err := fmt.Fprintln(w, "ok")
		return err
	}
	if _, ok := errors.AsType[*admin.NotReadyError](err); ok {
		return command.Fail(command.ExitFailed, err, "")
	}
	if errors.Is(context.Cause(ctx), error(command.ErrInterrupted)) {
		return command.ErrInterruptedQuietly
	}
	return target.Unreachable(err)
}
