package main

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
)

// statusTime is how long a gateway may take to tell how it is.
const statusTime = 10 * time.Second

func newStatus() *cobra.Command {
	var connect string
	var watch bool
	var out format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how a running gateway is",
		Long: `Show how a running gateway is: its servers, what they offer and what is going on. Exit code 0 whenever it answers.

It asks the gateway's admin socket: that of the port --connect names, or the socket --connect is the path of.`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := adminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := interruptible(cmd)
			defer cancel()
			if watch {
				return watchStatus(ctx, cmd.OutOrStdout(), path, out)
			}
			return showStatus(ctx, cmd.OutOrStdout(), path, out)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "show it again every second, until interrupted")
	connectFlag(cmd, &connect)
	out.add(cmd)
	return cmd
}

// showStatus prints the state of the gateway behind the socket once.
func showStatus(ctx context.Context, w io.Writer, path string, out format) error {
	ctx, stop := context.WithTimeout(ctx, statusTime)
	defer stop()
	snapshot, err := admin.Fetch(ctx, path)
	if err != nil {
		if errors.Is(context.Cause(ctx), error(errInterrupted)) {
			return errQuiet
		}
		return unreachable(err)
	}
	if out == formatTable {
		return printStatus(w, snapshot)
	}
	raw, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	return out.raw(w, raw)
}

// watchStatus prints it every second: over the last one on a terminal, below it elsewhere. A gateway that goes away is
// waited for.
func watchStatus(ctx context.Context, w io.Writer, path string, out format) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		var page strings.Builder
		if err := showStatus(ctx, &page, path, out); err != nil {
			if errors.Is(err, error(errQuiet)) {
				return err
			}
			fmt.Fprintf(&page, "%s\n", oneLine(err.Error(), 200))
		}
		if isTerminal(w) {
			fmt.Fprint(w, "\x1b[H\x1b[2J")
		}
		if _, err := io.WriteString(w, page.String()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errQuiet
		}
	}
}
