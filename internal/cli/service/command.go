package service

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
)

// NewCommand returns the service command.
func NewCommand() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "service",
		Short: "Run the gateway as a service of the user",
		Long: `Run the gateway in the background as a service of the user: a user service of systemd on Linux, a launchd agent on macOS, a
scheduled task on Windows. The gateway runs with your rights. To install it, only Windows requires an administrator.`,
		Example: `  goblin-actor service install --config goblin.yaml
  goblin-actor service status`,
	})
	cmd.AddCommand(newInstall(), newStart(), newStop(), newStatus(), newUninstall())
	return cmd
}

// nameFlag adds the flag --name.
func nameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", defaultName, "name of the service")
}
