package configure

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/config"
	"goblin-actor/internal/rollout"
)

// NewRemove returns the remove command.
func NewRemove() *cobra.Command {
	var path string
	var gateway rolloutFlags
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a server from the configuration",
		Long: `Remove a server from the configuration, together with the comments inside its entry and directly above it. All other
comments are kept, including one above the first server, which may be about all of them.

A gateway that runs with this file stops the server at once, and running calls of the server fail; the command waits for that.`,
		Example:           "  goblin-actor remove files",
		Args:              command.Args(1, 1, "the name of a server"),
		ValidArgsFunction: target.CompleteServers(new(string)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := configfile.Open(path, false)
			if err != nil {
				return err
			}
			text, err := config.RemoveServer(f.Path, f.Text, args[0])
			if err != nil {
				return configfile.EditError(cmd, f, err)
			}
			return gateway.save(cmd, f, text, "removed "+args[0]+" from", rollout.Change{Server: args[0]})
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configfile.FlagHelp)
	gateway.add(cmd)
	return cmd
}
