package serving

import (
	"log/slog"
	"os"
	"path/filepath"

	"goblin-actor/internal/status"
)

// stateFile is the name of the state file in its directory.
const stateFile = "state.db"

// StatePath returns the path of the state file. It logs a warning and returns "" if there is no directory for it.
func StatePath(dir string, log *slog.Logger) string {
	if dir != "" {
		return filepath.Join(dir, stateFile)
	}
	dir, err := status.StateDir(os.Getenv)
	if err != nil {
		log.Warn("there is no directory for the state file; state is kept in memory", "err", err)
		return ""
	}
	return filepath.Join(dir, stateFile)
}
