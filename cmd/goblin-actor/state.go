package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"goblin-actor/internal/status"
)

// stateFile is the name of the state file in its directory.
const stateFile = "state.db"

// addStateDir declares the flag that says where the state file is.
func addStateDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "directory of the state file (default: goblin-actor in $XDG_STATE_HOME)")
}

// statePath returns the path of the state file; "" when there is no place for it, which is logged.
func statePath(dir string, log *slog.Logger) string {
	if dir != "" {
		return filepath.Join(dir, stateFile)
	}
	dir, err := status.StateDir(os.Getenv)
	if err != nil {
		log.Warn("what is learned of the servers is kept in memory", "err", err)
		return ""
	}
	return filepath.Join(dir, stateFile)
}
