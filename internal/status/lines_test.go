package status

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// What a server writes is remembered at every level, beside what the log says of it, and is no line of the log.
func TestLinesOfAServer(t *testing.T) {
	events := new(Events)
	var text strings.Builder
	log := slog.New(events.Record(slog.NewTextHandler(&text, nil)))
	files, web := log.With("server", "files"), log.With("server", "web")
	files.Debug(MessageStderr, "line", "Error: no\x1b[31m token")
	web.Info("server is ready", "replica", 0)
	log.Info("configuration reloaded")
	files.Debug("something else")
	files.Debug(MessageLogged, "line", "warning: disk full")
	shown := func(list []Event) string {
		var out []string
		for _, e := range list {
			out = append(out, e.Level+" "+e.Server+" "+e.Message)
		}
		return strings.Join(out, "; ")
	}
	if got, want := shown(events.Lines("files", 0)), "STDERR files Error: no\x1b[31m token; MCP files warning: disk full"; got != want {
		t.Errorf("files: %q, want %q", got, want)
	}
	all := events.Lines("", 0)
	if got, want := shown(all[1:3]), "INFO web server is ready; INFO  configuration reloaded"; got != want || len(all) != 4 {
		t.Errorf("all: %q of %d, want %q of 4", got, len(all), want)
	}
	if got := events.Lines("files", all[0].Number); len(got) != 1 {
		t.Errorf("after the first: %v", got)
	}
	if got := shown(events.After(0)); strings.Contains(got, "STDERR") || strings.Contains(text.String(), "token") {
		t.Errorf("the log has a server's line: %s, %s", got, text.String())
	}
}

// However much is written, 200 lines and 64 KiB of a server are kept, and of 256 servers.
func TestLinesAreBounded(t *testing.T) {
	events := new(Events)
	log := slog.New(events.Record(slog.NewTextHandler(io.Discard, nil)))
	loud := log.With("server", "loud")
	for i := range 1000 {
		loud.Debug(MessageStderr, "line", fmt.Sprint(i))
	}
	if got := events.Lines("loud", 0); len(got) != maxTailLines || got[0].Message != "800" {
		t.Errorf("%d lines, the first %v", len(got), got[0])
	}
	for range 100 {
		loud.Debug(MessageStderr, "line", strings.Repeat("x", 10000))
	}
	bytes := 0
	for _, e := range events.Lines("loud", 0) {
		bytes += weight(e)
	}
	if bytes > maxTailBytes || bytes < maxTailBytes/2 {
		t.Errorf("%d bytes are kept", bytes)
	}
	for i := range maxTails {
		log.With("server", fmt.Sprint("s", i)).Debug(MessageStderr, "line", "x")
	}
	if n := len(events.tails); n != maxTails || len(events.Lines("loud", 0)) != 0 || len(events.Lines("s0", 0)) != 1 {
		t.Errorf("%d servers are kept", n)
	}
}
