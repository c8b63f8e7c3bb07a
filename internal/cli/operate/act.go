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

// NewRestart returns the restart command.
func NewRestart() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "restart SERVER",
		Short: "Restart a server of the running gateway",
		Long: `Restart a server of the running gateway: start a new process, or connect to the URL again. New calls use the new connection;
running calls may finish on the old one.`,
		Example:           "  goblin-actor restart files",
		Args:              command.Args(1, 1, "a server name"),
		ValidArgsFunction: target.CompleteServers(&connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			return act(cmd, connect, status.Action{Verb: status.Restart, Server: args[0]}, "restarting "+args[0])
		},
	}
	target.NodeFlags(cmd, &connect)
	return cmd
}

// NewDrain returns the drain command, which ends the gateway in the same way as SIGTERM.
func NewDrain() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Shut down the running gateway; running calls may finish first",
		Args:  command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return act(cmd, connect, status.Action{Verb: status.Drain}, "draining")
		},
	}
	target.NodeFlags(cmd, &connect)
	return cmd
}

// act sends an action to the running gateway. On success, it prints the message done.
func act(cmd *cobra.Command, connect string, a status.Action, done string) error {
	source, err := target.DialAdmin(connect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), target.RequestTimeout)
	defer cancel()
	if err := source.Act(ctx, a); err != nil {
		if _, refused := errors.AsType[*admin.Refused](err); refused {
			return command.Fail(command.ExitPeerError, err, `run "goblin-actor status" to list the servers`)
		}
		return target.Unreachable(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Clean(done))
	return err
}
