package serving

import (
	"io"
	"log/slog"

	"goblin-actor/internal/config"
	"goblin-actor/internal/visible"
)

// NewLogger returns a logger that writes to w with the configured format and level. If level is not nil, setting it later
// changes the level of the logger.
func NewLogger(c config.Log, level *slog.LevelVar, w io.Writer) *slog.Logger {
	if level == nil {
		level = new(slog.LevelVar)
	}
	level.Set(levelOf(c))
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(visible.Writer(w), options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func levelOf(c config.Log) slog.Level {
	level := slog.LevelInfo
	if level.UnmarshalText([]byte(c.Level)) != nil {
		return slog.LevelInfo
	}
	return level
}
