package configure

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/config"
)

// NewRemove returns the command that takes a server out of the configuration.
func NewRemove() *cobra.Command {
	var path string
	var then applying
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a server out of the configuration",
		Long: `Take a server out of the configuration, with the comments inside of it and those right above it. All other
comments stay, also one above the first server, as it may be about all of them.
A gateway that runs with this file ends the server at once; the command waits for that.`,
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
			return changeOwn(cmd, f, text, "removed "+args[0]+" from", &then, wish{server: args[0]})
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configfile.FlagHelp)
	then.flags(cmd)
	return cmd
}
