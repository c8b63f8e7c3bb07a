package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
)

// newRemove returns the command that takes a server out of the configuration.
func newRemove() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a server out of the configuration",
		Long: `Take a server out of the configuration, with the comments inside of it and those right above it. All other
comments stay, also one above the first server, as it may be about all of them.`,
		Example:           "  goblin-actor remove files",
		Args:              takes(1, 1, "the name of a server"),
		ValidArgsFunction: completeServers(new(string)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := openOwn(path, false)
			if err != nil {
				return err
			}
			text, err := config.RemoveServer(f.Path, f.Text, args[0])
			if err != nil {
				return editError(cmd, f, err)
			}
			if err := writeOwn(cmd, f, text); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", clean(args[0]))
			return err
		},
	}
	cmd.Flags().StringVar(&path, "config", "", configFlagHelp)
	return cmd
}
