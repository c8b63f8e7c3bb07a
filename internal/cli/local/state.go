package local

import (
	"github.com/spf13/cobra"
)

// StateDirFlag declares the flag that says where the state file is.
func StateDirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "directory of the state file (default: goblin-actor in $XDG_STATE_HOME)")
}
