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
	"goblin-actor/tui"
)

func NewTUI() *cobra.Command {
	var connect, view, skin string
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Look at a running gateway",
		Long: `Show on the terminal what a running gateway does: servers, connections, clients, calls, the catalog, the log.
Press ? for the keys. "goblin-actor serve --tui" does the same for a gateway of its own.

It asks the gateway's admin socket: that of the port --connect names, or the socket --connect is the path of. A gateway that goes away is waited for.`,
		Example: `  goblin-actor tui
  goblin-actor tui --connect 8730 --view calls
  goblin-actor tui --skin ./dark.yaml`,
		Args: command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(tui.Views(), view) {
				return command.UsageError("views: "+strings.Join(tui.Views(), " "), "--view %q is no view", view)
			}
			look := tui.Options{View: view}
			if err := console.Prepare(cmd, &look, skin); err != nil {
				return err
			}
			path, err := target.AdminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			source, err := admin.Dial(path)
			if err != nil {
				return err
			}
			ctx, cancel := command.Interruptible(cmd)
			defer cancel()
			return console.Show(ctx, source, look)
		},
	}
	target.ConnectFlag(cmd, &connect)
	cmd.Flags().StringVar(&view, "view", "overview", "the first view")
	console.SkinFlag(cmd, &skin)
	return cmd
}
