package configure

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/config"
)

// newConfigSchema returns the config schema command.
func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration for editors",
		Long: `Print the JSON Schema (draft 2020-12) of the configuration. A YAML file refers to it in its first line,
"# yaml-language-server: $schema=goblin.schema.json"; a JSON file with the key "$schema".`,
		Example: "  goblin-actor config schema > goblin.schema.json",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
}
