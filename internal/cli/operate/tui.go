package operate

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/console"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/serving"
	"goblin-actor/tui"
)

// NewTUI returns the command tui. The console explains denials with explain.
func NewTUI(explain console.Explain) *cobra.Command {
	var connect, view string
	var readOnly bool
	var look console.Look
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Open the terminal UI of a running gateway",
		Long: `Open the terminal UI of a running gateway: servers, connections, clients, calls, catalog and log. Press ? for the keys.
"goblin-actor serve --tui" starts a gateway with this UI.

The command uses the gateway's admin socket. --connect takes the gateway's port, a loopback address or the path of the
socket. If the gateway stops, the UI waits until it is back.`,
		Example: `  goblin-actor tui
  goblin-actor tui --connect 8730 --view calls
  goblin-actor tui --skin contrast --ascii`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(tui.Views(), view) {
				return command.UsageError("use one of: "+strings.Join(tui.Views(), " "), "--view %q: no such view", view)
			}
			o := tui.Options{View: view, ReadOnly: readOnly}
			if err := console.Prepare(cmd, &o, &look); err != nil {
				return err
			}
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			dial := admin.Dial
			if readOnly {
				dial = admin.DialReadOnly
			}
			source, err := dial(path)
			if err != nil {
				return err
			}
			if service, err := serving.SocketLogins(path); err == nil && !readOnly {
				o.Logins = console.Logins(service)
			}
			o.Explain = explain.Of(source)
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			return console.Show(ctx, source, o)
		},
	}
	target.NodeFlags(cmd, &connect)
	cmd.Flags().StringVar(&view, "view", "overview", "initial view")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "change nothing: the gateway refuses all actions of this terminal UI")
	look.Flags(cmd)
	return cmd
}
