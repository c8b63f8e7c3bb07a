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

func (l *serverLog) Warnf(format string, v ...any) {
	if strings.Contains(format, "certificate chain and hostname") { // see routeTLS
		return
	}
	l.write(slog.LevelWarn, format, v)
}

func (l *serverLog) Errorf(format string, v ...any) { l.write(slog.LevelWarn, format, v) }

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
	skipped, ok := l.repeated.admit(kindOf(format), time.Now())
	if !ok {
		return
	}
	text := fmt.Sprintf(format, v...)
	if len(text) > maxLine {
		text = text[:maxLine] + "…"
	}
	log := l.log
	if skipped > 0 {
		log = log.With("skipped", skipped)
	}
	log.Log(context.Background(), level, "NATS server: "+text)
}

// kindOf returns the part of a format that is equal for all connections: the server puts the connection in front of it.
func kindOf(format string) string { return format[strings.LastIndex(format, " - ")+1:] }
