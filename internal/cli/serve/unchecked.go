package serve

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
)

// NewUnchecked returns a hidden command for bench: serve without checks of tool definitions.
func NewUnchecked() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:    "unchecked",
		Short:  "Run the gateway without checking tool definitions",
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
