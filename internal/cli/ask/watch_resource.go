package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/status"
)

// NewWatch returns the watch command.
func NewWatch() *cobra.Command {
	var gateway gatewayFlags
	var asked answerer
	var out output.Format
	var count int
	cmd := &cobra.Command{
		Use:   "watch URI",
		Short: "Print a resource now and after each change",
		Long: `Print a resource now and after each update, until interrupted or, with --count, until that many versions were printed. If the
connection to a running gateway is lost, the command reconnects.

-o json prints one event per line: "contents" with the result, "error" if the resource cannot be read, and "lost" and "back"
for the connection.

"watch catalog" prints changes to the catalog instead.`,
		Example:           "  goblin-actor watch resource://clock/clock://now --count 3\n  goblin-actor watch resource://notes/note:///welcome -o json",
		Args:              command.Args(1, 1, "a resource URI"),
		ValidArgsFunction: target.CompleteItems(func(i *status.Items) []status.Item { return i.Resources }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if count < 0 {
				return command.UsageError("use 0 for no limit", "--count %d is negative", count)
			}
			if err := asked.begin(cmd, args[0], terminal.NewProgressBar(cmd.ErrOrStderr())); err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			return command.AfterWatch(ctx, watchResource(ctx, cmd, &gateway, out, args[0], count))
		},
	}
	cmd.Flags().IntVar(&count, "count", 0, "exit after this many versions; 0 = no limit")
	gateway.asked = &asked
	gateway.add(cmd)
	asked.add(cmd)
	out.AddFlag(cmd)
	cmd.AddCommand(newWatchCatalog())
	return cmd
}

// errEnough ends a watch after the number of events that --count sets.
var errEnough = errors.New("enough")

// watchResource follows the resource. With --config, it starts a gateway in this process once and does not reconnect to
// it.
func watchResource(ctx context.Context, cmd *cobra.Command, gateway *gatewayFlags, out output.Format, uri string, count int) error {
	p := watchPrinter{out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(), format: out, uri: uri, left: count}
	stop := func() {}
	defer func() { stop() }()
	if err := gateway.check(cmd); err != nil {
		return err
	}
	w := client.Watcher{URI: uri, Options: gateway.options(ctx), Tell: p.tell}
	w.Dial = func(ctx context.Context, o client.Options) (*client.Client, error) {
		if gateway.config == "" {
			return gateway.dial(ctx, o)
		}
		c, end, err := local.Start(ctx, gateway.config, o, cmd.ErrOrStderr())
		if err == nil {
			stop = end
			w.Dial = func(context.Context, client.Options) (*client.Client, error) { return nil, client.ErrClosed }
		}
		return c, err
	}
	if err := w.Watch(ctx); err != errEnough {
		return failed(err)
	}
	return nil
}

// watchPrinter prints the events of a watcher.
type watchPrinter struct {
	out, errOut io.Writer
	format      output.Format
	uri         string
	left        int // number of versions to print before the command ends; 0 = no limit
}

func (p *watchPrinter) tell(e client.WatchEvent) error {
	var err error
	if p.format == output.Table {
		err = p.printText(e)
	} else {
		err = p.event(e)
	}
	if err == nil && e.Kind == client.WatchContents && p.left > 0 {
		if p.left--; p.left == 0 {
			return errEnough
		}
	}
	return err
}

// printText prints an event as plain text: contents on stdout, everything else on stderr.
func (p *watchPrinter) printText(e client.WatchEvent) error {
	switch e.Kind {
	case client.WatchContents:
		return printContents(p.out, e.Result, true)
	case client.WatchBack:
		fmt.Fprintln(p.errOut, "reconnected")
	case client.WatchLost:
		fmt.Fprintf(p.errOut, "connection lost, reconnecting: %s\n", terminal.OneLine(e.Err.Error(), 200))
	default:
		fmt.Fprintf(p.errOut, "cannot read the resource: %s\n", terminal.OneLine(e.Err.Error(), 200))
	}
	return nil
}

// event prints an event as one line of JSON or one document of YAML.
func (p *watchPrinter) event(e client.WatchEvent) error {
	event := struct {
		Event  client.WatchKind `json:"event"`
		Time   string           `json:"time"`
		URI    string           `json:"uri"`
		Result json.RawMessage  `json:"result,omitempty"`
		Error  string           `json:"error,omitempty"`
	}{e.Kind, time.Now().UTC().Format(time.RFC3339Nano), p.uri, e.Result, ""}
	if e.Err != nil {
		event.Error = e.Err.Error()
	}
	return p.format.WriteLine(p.out, event)
}
