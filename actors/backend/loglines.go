package backend

import (
	"log/slog"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// logged copies a server's log message to the gateway's log, at level debug.
func logged(f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.Log(slog.LevelDebug, status.MessageLogged, status.LineKey, logParams{f}))
}

// logParams are the params of notifications/message. They are parsed only when the message is actually logged.
type logParams struct{ frame *protocol.Frame }

// LogValue returns the level, the logger and the data, such as "warning db: slow". Data that is not a string stays
// JSON.
func (p logParams) LogValue() slog.Value {
	raw, params := p.frame.Raw, p.frame.Params
	if value := params.Of(raw); len(value) == 0 || value[0] != '{' {
		return slog.StringValue("(not an object)")
	}
	text := func(key string) string {
		value := rawjson.Member(raw, params, key).Of(raw)
		if s, ok := rawjson.Unquote(value); ok {
			return s
		}
		return string(value)
	}
	line := text("level")
	if logger := text("logger"); logger != "" {
		line += " " + logger
	}
	return slog.StringValue(line + ": " + text("data"))
}
