package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
	"goblin-actor/internal/visible"
)

// NewCalls returns the calls command.
func NewCalls() *cobra.Command {
	var connect, server string
	var follow, failed bool
	var out output.Format
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "Print finished and running calls",
		Long: `Print finished calls, newest last, followed by running calls. The running gateway keeps the newest 256 calls of each server,
and separately the newest 64 failed ones. It keeps the same numbers of requests that it refused before they reached a server,
for example those for unknown tools; their SERVER is -.

OUTCOME is ok, tool_error (a result with isError), error (from the server), or timeout, cancelled, unavailable, queue_full or
failed (from the gateway). For running calls it is queued, written, or parked (waiting for the client's answer). QUEUE is the time
in the queue, TOOK the whole time, IN and OUT the bytes of the request and of the server's answer. WHY is the error, or what a
running call waits for and its remaining time. -o json prints one object with all facts, such as the connection and the times at
which the request reached the server and was answered; with --follow, it prints one object per finished call.`,
		Example: "  goblin-actor calls --failed\n  goblin-actor calls --follow --server files",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := target.DialAdmin(connect)
			if err != nil {
				return err
			}
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			c := &callPrinter{source: source, server: server, failed: failed, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), format: out}
			if follow {
				return command.AfterWatch(ctx, c.follow(ctx))
			}
			return c.print(ctx)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print the stored calls, then others as they finish, until interrupted")
	cmd.Flags().BoolVar(&failed, "failed", false, "print failed calls only")
	cmd.Flags().StringVar(&server, "server", "", "print calls of this server only")
	_ = cmd.RegisterFlagCompletionFunc("server", target.CompleteServers(&connect)) // cannot fail: the flag exists
	target.NodeFlags(cmd, &connect)
	out.AddFlag(cmd)
	return cmd
}

type callPrinter struct {
	source status.Source
	server string
	failed bool
	out    io.Writer
	errOut io.Writer
	format output.Format
}

// calls is the output of -o json.
type calls struct {
	Finished []status.FinishedCall `json:"finished"`
	Running  []status.Call         `json:"running"`
}

func (c *callPrinter) print(ctx context.Context) error {
	var seen calls
	var err error
	if seen.Finished, err = c.ended(ctx); err != nil {
		return err
	}
	if c.failed {
		seen.Finished = slices.DeleteFunc(seen.Finished, func(f status.FinishedCall) bool { return !f.Failed() })
	}
	return c.all(ctx, seen)
}

// follow prints the stored calls, then each call that ends, until ctx ends.
func (c *callPrinter) follow(ctx context.Context) error {
	if c.format == output.Table {
		if err := c.line(callHead()); err != nil {
			return err
		}
	}
	return follow(ctx, c.source, status.FollowOptions{Want: []status.Want{status.WantFinished}, Server: c.server}, c.errOut, "call", func(n status.Notice) error {
		for _, f := range n.Finished {
			if c.failed && !f.Failed() {
				continue
			}
			if err := c.one(f); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *callPrinter) ended(ctx context.Context) ([]status.FinishedCall, error) {
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	list, err := c.source.Finished(ctx, c.server, 0)
	if err != nil {
		return nil, target.Unreachable(err)
	}
	return list, nil
}

// one prints a call for --follow. A table has fixed columns.
func (c *callPrinter) one(f status.FinishedCall) error {
	if c.format != output.Table {
		raw, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if c.format == output.YAML {
			if _, err := io.WriteString(c.out, "---\n"); err != nil {
				return err
			}
			return c.format.Write(c.out, raw)
		}
		_, err = fmt.Fprintln(c.out, visible.JSON(string(raw)))
		return err
	}
	return c.line(callCells(f))
}

// line prints a row of the table for --follow. A column is as wide as callColumns says; the last one is not padded.
func (c *callPrinter) line(cells []string) error {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(terminal.Pad(cell, callColumns[i].width) + "  ")
	}
	_, err := fmt.Fprintln(c.out, strings.TrimRight(b.String(), " "))
	return err
}

// all prints the finished calls and, unless failed is set, the running ones.
func (c *callPrinter) all(ctx context.Context, seen calls) error {
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	s, err := c.source.Status(ctx)
	if err != nil {
		return target.Unreachable(err)
	}
	seen.Running = []status.Call{}
	for _, r := range s.Calls {
		if !c.failed && (c.server == "" || c.server == r.Server) {
			seen.Running = append(seen.Running, r)
		}
	}
	if c.format != output.Table {
		raw, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		return c.format.Write(c.out, raw)
	}
	if len(seen.Finished)+len(seen.Running) == 0 {
		_, err := io.WriteString(c.out, "no calls\n")
		return err
	}
	return output.PrintTable(c.out, callHead(), callRows(seen, s.Now))
}
