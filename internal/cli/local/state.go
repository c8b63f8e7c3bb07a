package local

import (
	"github.com/spf13/cobra"
)

// StateDirFlag adds the flag --state-dir.
func StateDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "directory of the state file (default: $XDG_STATE_HOME/goblin-actor, else ~/.local/state/goblin-actor)")
}
