package ask

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
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// maxShownNames is the maximum number of added, of removed and of changed items that a line names.
const maxShownNames = 20

func newWatchCatalog() *cobra.Command {
	var connect string
	var out output.Format
	var count int
	var past bool
	cmd := &cobra.Command{
		Use:   "catalog",
		Short: "Print changes to the catalog as they happen",
		Long: `Print changes to the running gateway's catalog as they happen: for each server the added, removed and changed tools, prompts,
resources and templates, with the changed fields.

The command runs until interrupted or, with --count, until that many changes were printed. If the connection is lost, it
reconnects and prints the changes in between, or reports that they are unknown. A line names at most 20 added, 20 removed
and 20 changed items, and gives the number of the others.

-o json prints one event per line: "change"; "gap" with the number of missed changes; "lost" and "back" for the connection,
with "restarted" if the gateway was restarted and the changes in between are unknown.`,
		Example: "  goblin-actor watch catalog\n  goblin-actor watch catalog --past -o json",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 0 {
				return command.UsageError("use 0 for no limit", "--count %d is negative", count)
			}
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			p := changePrinter{out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), format: out, left: count}
			return command.AfterWatch(ctx, watchCatalog(ctx, &admin.Follower{Path: path, Past: past, Tell: p.tell}))
		},
	}
	cmd.Flags().IntVar(&count, "count", 0, "exit after this many changes; 0 = no limit")
	cmd.Flags().BoolVar(&past, "past", false, "first print the changes that the gateway has retained")
	target.ConnectFlag(cmd, &connect)
	out.AddFlag(cmd)
	return cmd
}

func watchCatalog(ctx context.Context, f *admin.Follower) error {
	err := f.Follow(ctx)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case ctx.Err() != nil:
		return err
	case errors.Is(err, admin.ErrNoStream):
		return command.Fail(command.ExitPeerError, err, "check the gateway's version with goblin-actor status; it may be older than this program")
	case f.Started():
		return err
	}
	return command.Fail(command.ExitUnreachable, fmt.Errorf("no gateway answers: %w", err), `start one with "goblin-actor serve"`)
}

// changePrinter prints the events of a follower of the catalog.
type changePrinter struct {
	out, errOut io.Writer
	format      output.Format
	left        int // number of changes to print before the command ends; 0 = no limit
}

func (p *changePrinter) tell(e admin.FollowEvent) error {
	var err error
	if p.format == output.Table {
		err = p.printText(e)
	} else {
		err = p.event(e)
	}
	if err == nil && e.Change != nil && p.left > 0 {
		if p.left--; p.left == 0 {
			return errEnough
		}
	}
	return err
}

// printText prints changes on stdout and everything else on stderr.
func (p *changePrinter) printText(e admin.FollowEvent) error {
	switch {
	case e.Change != nil:
		_, err := fmt.Fprintf(p.out, "%s  %-12s  %s\n", e.Change.Time.Local().Format(time.TimeOnly), terminal.OneLine(e.Change.Server, 0), terminal.OneLine(e.Change.Text(maxShownNames), 0))
		return err
	case e.Missed > 0:
		fmt.Fprintf(p.errOut, "%s missed\n", terminal.Count(int(e.Missed), "change"))
	case e.Restarted:
		fmt.Fprintln(p.errOut, "reconnected; the gateway was restarted and changes in between are unknown")
	case e.Back:
		fmt.Fprintln(p.errOut, "reconnected")
	default:
		fmt.Fprintf(p.errOut, "connection lost, reconnecting: %s\n", terminal.OneLine(e.Lost.Error(), 200))
	}
	return nil
}

// changeEvent is a line of -o json, or a document of -o yaml.
type changeEvent struct {
	Event string    `json:"event"` // change, gap, lost or back
	At    time.Time `json:"at"`    // when it was printed
	*status.CatalogChange
	Missed    uint64 `json:"missed,omitempty"`
	Restarted bool   `json:"restarted,omitempty"`
	Error     string `json:"error,omitempty"`
}

// event prints an event as one line of JSON or one document of YAML.
func (p *changePrinter) event(e admin.FollowEvent) error {
	line := changeEvent{Event: "lost", At: time.Now().UTC(), CatalogChange: e.Change, Missed: e.Missed, Restarted: e.Restarted}
	switch {
	case e.Change != nil:
		line.Event = "change"
	case e.Missed > 0:
		line.Event = "gap"
	case e.Back:
		line.Event = "back"
	default:
		line.Error = e.Lost.Error()
	}
	return p.format.WriteLine(p.out, line)
}
