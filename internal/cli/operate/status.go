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
	"goblin-actor/internal/status"
)

// NewStatus returns the status command.
func NewStatus() *cobra.Command {
	var connect string
	var watch bool
	out := statusFormat{output.Table}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of a running gateway",
		Long: `Show the servers of a running gateway, what they offer, current activity, and the rates of the last minute. Without --watch, also show the last failed calls and refused requests of the last ten minutes. The exit code is 0 if the gateway answers.

The command uses the gateway's admin socket. --connect takes the gateway's port, a loopback address or the path of the socket.`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			if watch {
				return command.AfterWatch(ctx, watchStatus(ctx, cmd.OutOrStdout(), path, out.Format))
			}
			return showStatus(ctx, cmd.OutOrStdout(), path, out.Format)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh every second until interrupted")
	target.NodeFlags(cmd, &connect)
	cmd.Flags().VarP(&out, "output", "o", "output format: table, lines (one sentence per fact, with --watch per change), json or yaml")
	return cmd
}

// showStatus prints the status of the gateway at the socket once.
func showStatus(ctx context.Context, w io.Writer, path string, out output.Format) error {
	ctx, stop := context.WithTimeout(ctx, target.RequestTimeout)
	defer stop()
	snapshot, err := admin.FetchRecent(ctx, path, int(ratesWindow/time.Second))
	if err != nil {
		if errors.Is(context.Cause(ctx), error(command.ErrInterrupted)) {
			return command.ErrInterruptedQuietly
		}
		return target.Unreachable(err)
	}
	return printAs(w, snapshot, fetchLately(ctx, path, snapshot.Now), out)
}

// printAs prints a snapshot, and what has happened lately, in a format.
func printAs(w io.Writer, snapshot *status.Snapshot, l lately, out output.Format) error {
	switch out {
	case output.Table:
		return printStatus(w, snapshot, l)
	case lines:
		return printLines(w, append(sentences(&status.Snapshot{}, snapshot), l.sentences()...))
	}
	raw, err := json.Marshal(report(snapshot, l))
	if err != nil {
		return err
	}
	return out.Write(w, raw)
}

// watchStatus prints the status every second. On a terminal each status replaces the previous one, elsewhere it is
// appended. While no gateway answers, watchStatus prints the error instead. In the format lines it prints changes only.
func watchStatus(ctx context.Context, w io.Writer, path string, out output.Format) error {
	source, err := admin.Dial(path)
	if err != nil {
		return err
	}
	if out == lines {
		return watchLines(ctx, w, source)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	news, ended := make(chan latest), make(chan struct{})
	go func() {
		defer close(ended)
		o := status.FollowOptions{Want: []status.Want{status.WantState, status.WantCalls, status.WantSessions}, Every: time.Second}
		if out != output.Table {
			o.Want = append(o.Want, status.WantActors)
		}
		cancel(followStatus(ctx, source, o, func(l latest) error {
			select {
			case news <- l:
			case <-ctx.Done():
			}
			return nil
		}))
	}()
	defer func() { cancel(nil); <-ended }()
	return printEverySecond(ctx, w, out, news)
}

// printEverySecond prints the newest status at once and then every second.
func printEverySecond(ctx context.Context, w io.Writer, out output.Format, news <-chan latest) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var l latest
	for {
		first := l.snapshot == nil && l.lost == nil
		select {
		case l = <-news:
			if !first {
				continue
			}
		case <-tick.C:
			if first {
				continue
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := printPage(w, out, l); err != nil {
			return err
		}
	}
}

// printPage prints the newest status, or why there is none.
func printPage(w io.Writer, out output.Format, l latest) error {
	var page strings.Builder
	if l.lost != nil {
		fmt.Fprintf(&page, "%s\n", terminal.OneLine(target.Unreachable(l.lost).Error(), 200))
	} else {
		now := *l.snapshot
		now.Now = now.Now.Add(time.Since(l.came)) // a gateway without changes sends no newer snapshot
		if err := printAs(&page, &now, lately{}, out); err != nil {
			return err
		}
	}
	if terminal.IsTerminal(w) {
		fmt.Fprint(w, "\x1b[H\x1b[2J")
	}
	_, err := io.WriteString(w, page.String())
	return err
}
