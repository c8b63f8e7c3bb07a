package bus

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// maxLine limits a message of the server, in bytes.
const maxLine = 300

// serverLog passes what the NATS server logs to a slog.Logger. It implements server.Logger.
type serverLog struct {
	log    *slog.Logger
	failed chan string // receives why the server cannot start

	repeated repeated
}

func (l *serverLog) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (*serverLog) Debugf(string, ...any)             {}
func (*serverLog) Tracef(string, ...any)             {}

// Warnf logs an info message, because the server itself recovers from the condition, such as an election. It skips warnings
// about what this package does on purpose: routeTLS checks certificates itself, and passwords are random and stay in the
// process.
func (l *serverLog) Warnf(format string, v ...any) {
	if strings.Contains(format, "certificate chain and hostname") || strings.HasPrefix(format, "Plaintext passwords") {
		return
	}
	l.write(slog.LevelInfo, format, v)
}

// duplicateName ends the server's format for a message about a node that has this node's name.
const duplicateName = "Remote server has a duplicate name: %q"

// Errorf logs a warning, or an info message if the error only says that a route to another node cannot be connected.
func (l *serverLog) Errorf(format string, v ...any) {
	level := slog.LevelWarn
	if strings.HasSuffix(format, duplicateName) {
		format, v = "two nodes of the cluster have the same name, %q; set cluster.node so that each name is unique", v[len(v)-1:]
	}
	if strings.HasPrefix(format, "Error trying to connect to route") {
		level = slog.LevelInfo
	}
	l.write(level, format, v)
}

// Fatalf does not end the process.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.write(slog.LevelError, format, v)
	select {
	case l.failed <- fmt.Sprintf(format, v...):
	default:
	}
}

// write logs a message, unless one of the same kind was logged within the last minute.
func (l *serverLog) write(level slog.Level, format string, v []any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	text := fmt.Sprintf(format, v...)
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	kind := kindOf(format)
	if format == "%s" {
		kind = text
	}
	skipped, ok := l.repeated.admit(kind, time.Now())
	if !ok {
		return
	}
	log := l.log
	if skipped > 0 {
		log = log.With("skipped", skipped)
	}
	log.Log(context.Background(), level, "NATS server: "+text)
}

// kindOf returns the part of a format that is equal for all connections: the server puts the connection in front of it.
func kindOf(format string) string { return format[strings.LastIndex(format, " - ")+1:] }
