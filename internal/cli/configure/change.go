package configure

import (
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
)

// changeOwn writes the configuration, says so and what was done, and then what the running gateway makes of it.
func changeOwn(cmd *cobra.Command, f *config.File, text, done string, a *applying, w wish) error {
	if err := configfile.Save(cmd, f, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", terminal.Clean(done), terminal.Clean(f.Path)); err != nil {
		return err
	}
	return a.follow(cmd, f.Path, w)
}
