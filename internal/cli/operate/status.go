package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
)

// NewStatus returns the status command.
func NewStatus() *cobra.Command {
	var connect string
	var watch bool
	var out output.Format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of a running gateway",
		Long: `Show the servers of a running gateway, what they offer, and current activity. The exit code is 0 if the gateway answers.

The command uses the gateway's admin socket. --connect is its port or the path of the socket.`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			if watch {
				return watchStatus(ctx, cmd.OutOrStdout(), path, out)
			}
			return showStatus(ctx, cmd.OutOrStdout(), path, out)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every second until interrupted")
	target.ConnectFlag(cmd, &connect)
	out.AddFlag(cmd)
	return cmd
}

// showStatus prints the status of the gateway at the socket once.
func showStatus(ctx context.Context, w io.Writer, path string, out output.Format) error {
	ctx, stop := context.WithTimeout(ctx, target.RequestTimeout)
	defer stop()
	snapshot, err := admin.Fetch(ctx, path)
	if err != nil {
		if errors.Is(context.Cause(ctx), error(command.ErrInterrupted)) {
			return command.ErrInterruptedQuietly
		}
		return target.Unreachable(err)
	}
	if out == output.Table {
		return printStatus(w, snapshot)
	}
	raw, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	return out.Write(w, raw)
}

// watchStatus prints the status every second. On a terminal each status replaces the previous one, elsewhere it is
// appended. While no gateway answers, watchStatus prints the error instead.
func watchStatus(ctx context.Context, w io.Writer, path string, out output.Format) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var page strings.Builder
		if err := showStatus(ctx, &page, path, out); err != nil {
			if errors.Is(err, error(command.ErrInterruptedQuietly)) {
				return err
			}
			fmt.Fprintf(&page, "%s\n", terminal.OneLine(err.Error(), 200))
		}
		if terminal.IsTerminal(w) {
			fmt.Fprint(w, "\x1b[H\x1b[2J")
		}
		if _, err := io.WriteString(w, page.String()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return command.ErrInterruptedQuietly
		}
	}
}
