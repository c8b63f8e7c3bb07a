package serving

import (
	"log/slog"

	"goblin-actor/actors"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/internal/telemetry"
)

// Telemetry is the running telemetry of a gateway. The zero value is off.
type Telemetry struct{ *telemetry.Telemetry }

// StartTelemetry starts the telemetry that the configuration or the environment enables. log receives messages about
// telemetry itself.
func StartTelemetry(cfg *config.Config, version string, log *slog.Logger, known *secret.Redactor) Telemetry {
	return Telemetry{telemetry.Start(telemetry.Options{Config: cfg.Telemetry, Version: version, Log: log, Secrets: known})}
}

// Observer returns the receiver of the gateway's reports, or nil if telemetry is off.
func (t Telemetry) Observer() actors.Telemetry {
	if t.Telemetry == nil {
		return nil
	}
	return t.Telemetry
}
