package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/status"
)

// newRestart returns the command that replaces a server's connections.
func newRestart() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "restart SERVER",
		Short: "Replace the connections of a server of the running gateway",
		Long: `Replace the connections of a server of the running gateway: a process is started anew, a URL connected to anew.
New calls go to the new one; those that run may finish on the old one, which ends then.`,
		Example:           "  goblin-actor restart files",
		Args:              takes(1, 1, "the name of a server"),
		ValidArgsFunction: completeServers(&connect),
		RunE: func(cmd *cobra.Command, args []string) error {
			return act(cmd, connect, status.Action{Verb: status.Restart, Server: args[0]}, "restarting "+args[0])
		},
	}
	connectFlag(cmd, &connect)
	return cmd
}

// newDrain returns the command that ends the running gateway as SIGTERM does.
func newDrain() *cobra.Command {
	var connect string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "End the running gateway: new work is refused, running calls may finish",
		Args:  takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return act(cmd, connect, status.Action{Verb: status.Drain}, "draining")
		},
	}
	connectFlag(cmd, &connect)
	return cmd
}

// act has the running gateway do something and says so.
func act(cmd *cobra.Command, connect string, a status.Action, done string) error {
	source, err := dialAdmin(connect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), statusTime)
	defer cancel()
	if err := source.Act(ctx, a); err != nil {
		if _, refused := errors.AsType[*admin.Refused](err); refused {
			return &exitError{exitAnswered, err, `"goblin-actor status" lists the servers`}
		}
		return unreachable(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), clean(done))
	return err
}
