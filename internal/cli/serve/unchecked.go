package serve

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
)

// NewUnchecked returns the hidden command of bench that serves without checking the definitions of tools.
func NewUnchecked() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:    "unchecked",
		Short:  "serve, without checking the definitions of tools",
		Hidden: true,
		Args:   command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			growFast()
			return serve(cmd, serveOptions{config: file, unchecked: true})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file")
	return cmd
}
