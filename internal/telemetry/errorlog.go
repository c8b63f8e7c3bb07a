package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"goblin-actor/internal/secret"
	"goblin-actor/internal/status"
)

const (
	errorPause = time.Minute // minimum time between two log lines about export errors
	errorText  = 300         // maximum bytes of an error in the log
)

// errorLog logs the errors of the SDK, at most one per errorPause. They may contain text from the collector.
type errorLog struct {
	log     *slog.Logger
	secrets *secret.Redactor

	mu     sync.Mutex
	last   time.Time
	hidden int // errors since the last line
}

func newErrorLog(log *slog.Logger, secrets *secret.Redactor) *errorLog {
	return &errorLog{log: log, secrets: secrets}
}

// Handle implements otel.ErrorHandler.
func (e *errorLog) Handle(err error) {
	if err == nil {
		return
	}
	e.mu.Lock()
	now := time.Now()
	if now.Sub(e.last) < errorPause {
		e.hidden++
		e.mu.Unlock()
		return
	}
	more := e.hidden
	e.last, e.hidden = now, 0
	e.mu.Unlock()
	e.log.Warn("telemetry: export failed; calls are not affected", "err", e.secrets.CutShort(status.Printable(err.Error(), errorText)), "more", more)
}
