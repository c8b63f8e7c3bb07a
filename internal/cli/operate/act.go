package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// NewRestart returns the command that replaces a server's connections.
func NewRestart() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "restart SERVER",
		Short: "Replace the connections of a server of the running gateway",
		Long: `Replace the connections of a server of the running gateway: a process is started anew, a URL connected to anew.
New calls go to the new one; those that run may finish on the old one, which ends then.`,
		Example:           "  goblin-actor restart files",
		Args:              command.Args(1, 1, "the name of a server"),
		ValidArgsFunction: target.CompleteServers(&connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			return act(cmd, connect, status.Action{Verb: status.Restart, Server: args[0]}, "restarting "+args[0])
		},
	}
	target.ConnectFlag(cmd, &connect)
	return cmd
}

// NewDrain returns the command that ends the running gateway as SIGTERM does.
func NewDrain() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "End the running gateway: new work is refused, running calls may finish",
		Args:  command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return act(cmd, connect, status.Action{Verb: status.Drain}, "draining")
		},
	}
	target.ConnectFlag(cmd, &connect)
	return cmd
}

// act has the running gateway do something and says so.
func act(cmd *cobra.Command, connect string, a status.Action, done string) error {
	source, err := target.DialAdmin(connect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), target.RequestTimeout)
	defer cancel()
	if err := source.Act(ctx, a); err != nil {
		if _, refused := errors.AsType[*admin.Refused](err); refused {
			return command.Fail(command.ExitPeerError, err, `"goblin-actor status" lists the servers`)
		}
		return target.Unreachable(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Clean(done))
	return err
}
