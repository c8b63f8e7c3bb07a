package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
	"goblin-actor/internal/visible"
)

// NewLogs returns the logs command.
func NewLogs() *cobra.Command {
	var connect string
	var follow bool
	var last int
	var out output.Format
	cmd := &cobra.Command{
		Use:   "logs [SERVER]",
		Short: "Print the logs of a server or of all servers",
		Long: `Print a server's stderr output, its MCP log messages, and the gateway's log entries about it, in order. Without SERVER, print
the logs of all servers and of the gateway.

The running gateway keeps the last 200 lines of each server, at most 64 KiB, even across restarts of the server. -o json
prints one object per line.`,
		Example:           "  goblin-actor logs files\n  goblin-actor logs files -f\n  goblin-actor logs -n 20",
		Args:              command.Args(0, 1, "a server name"),
		ValidArgsFunction: target.CompleteServers(&connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return command.UsageError("use 0 for all lines", "-n %d is negative", last)
			}
			source, err := target.DialAdmin(connect)
			if err != nil {
				return err
			}
			l := &logPrinter{source: source, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), format: out, p: terminal.PaletteFor(cmd.OutOrStdout())}
			if len(args) > 0 {
				l.server = args[0]
			}
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			return command.AfterWatch(ctx, l.print(ctx, last, follow))
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	cmd.Flags().IntVarP(&last, "lines", "n", 0, "number of lines to print; 0 = all")
	target.NodeFlags(cmd, &connect)
	out.AddFlag(cmd)
	return cmd
}

// logPrinter prints the lines of one server or of all.
type logPrinter struct {
	source status.Source
	server string // "" = all
	out    io.Writer
	errOut io.Writer
	format output.Format
	p      terminal.Palette
}

func (l *logPrinter) print(ctx context.Context, last int, follow bool) error {
	lines, err := l.fetch(ctx)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		if err := l.known(ctx); err != nil {
			return err
		}
	}
	if last > 0 && len(lines) > last {
		lines = lines[len(lines)-last:]
	}
	after, err := l.lines(lines)
	if err != nil || !follow {
		return err
	}
	return l.follow(ctx, after)
}

// lines prints lines and returns the number of the last one.
func (l *logPrinter) lines(list []status.Event) (last uint64, err error) {
	for _, line := range list {
		last = line.Number
		if err := l.line(line); err != nil {
			return last, err
		}
	}
	return last, nil
}

// follow prints the lines whose number is greater than after, until ctx ends.
func (l *logPrinter) follow(ctx context.Context, after uint64) error {
	o := status.FollowOptions{Want: []status.Want{status.WantLines}, Server: l.server, Last: status.Cursor{Lines: after}.String()}
	return follow(ctx, l.source, o, l.errOut, "line", func(n status.Notice) error {
		_, err := l.lines(n.Lines)
		return err
	})
}

func (l *logPrinter) fetch(ctx context.Context) ([]status.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	lines, err := l.source.Lines(ctx, l.server, 0)
	if err != nil {
		return nil, target.Unreachable(err)
	}
	return lines, nil
}

// known returns an error if the server does not exist.
func (l *logPrinter) known(ctx context.Context) error {
	if l.server == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, target.RequestTimeout)
	defer cancel()
	s, err := l.source.Status(ctx)
	if err != nil {
		return target.Unreachable(err)
	}
	names := make([]string, len(s.Servers))
	for i, v := range s.Servers {
		if v.Name == l.server {
			return nil
		}
		names[i] = v.Name
	}
	return target.UnknownServer(l.server, names)
}

// line prints a line. In the table format it prints the time, the server if the lines of all servers are printed, the
// level, the text and the fields.
func (l *logPrinter) line(e status.Event) error {
	if l.format != output.Table {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if l.format == output.YAML {
			if _, err := io.WriteString(l.out, "---\n"); err != nil {
				return err
			}
			return l.format.Write(l.out, raw)
		}
		_, err = fmt.Fprintln(l.out, visible.JSON(string(raw)))
		return err
	}
	var b strings.Builder
	b.WriteString(e.Time.Local().Format("15:04:05.000 "))
	if l.server == "" {
		fmt.Fprintf(&b, "%-12s ", terminal.OneLine(e.Server, 0))
	}
	word := fmt.Sprintf("%-6s", strings.ToLower(e.Level))
	switch {
	case strings.HasPrefix(e.Level, "ERROR"):
		word = l.p.Bad(word)
	case strings.HasPrefix(e.Level, "WARN"):
		word = l.p.Warn(word)
	}
	b.WriteString(word + " " + terminal.Clean(strings.TrimRight(e.Message, "\n")))
	if e.Fields != "" {
		b.WriteString("  " + terminal.Clean(e.Fields))
	}
	_, err := fmt.Fprintln(l.out, b.String())
	return err
}
