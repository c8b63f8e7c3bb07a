package serving

import (
	"log/slog"

	"goblin-actor/internal/config"
)

// NoteAlone logs that a gateway which never joins a cluster ignores the cluster's section of the configuration. Without that section, it logs
// nothing.
func NoteAlone(cfg *config.Config, log *slog.Logger) {
	if cfg.Cluster.Present {
		log.Info("this gateway runs alone: it ignores cluster and run in the configuration, which apply to goblin-actor serve")
	}
}
