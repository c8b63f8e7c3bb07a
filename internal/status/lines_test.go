package status

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// A server's own lines are stored at every level, together with log lines about it, but do not appear in the log.
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
		t.Errorf("Lines(files): got %q, want %q", got, want)
	}
	all := events.Lines("", 0)
	if got, want := shown(all[1:3]), "INFO web server is ready; INFO  configuration reloaded"; got != want || len(all) != 4 {
		t.Errorf("Lines of all servers: got %q of %d, want %q of 4", got, len(all), want)
	}
	if got := events.Lines("files", all[0].Number); len(got) != 1 {
		t.Errorf("Lines after the first: got %v", got)
	}
	if got := shown(events.After(0)); strings.Contains(got, "STDERR") || strings.Contains(text.String(), "token") {
		t.Errorf("the log contains a server's own line: %s, %s", got, text.String())
	}
}

// At most 200 lines and 64 KiB are stored per server, for at most 256 servers.
func TestLinesAreLimited(t *testing.T) {
	events := new(Events)
	log := slog.New(events.Record(slog.NewTextHandler(io.Discard, nil)))
	loud := log.With("server", "loud")
	for i := range 1000 {
		loud.Debug(MessageStderr, "line", fmt.Sprint(i))
	}
	if got := events.Lines("loud", 0); len(got) != maxTailLines || got[0].Message != "800" {
		t.Errorf("%d lines stored, the first is %v", len(got), got[0])
	}
	for range 100 {
		loud.Debug(MessageStderr, "line", strings.Repeat("x", 10000))
	}
	bytes := 0
	for _, e := range events.Lines("loud", 0) {
		bytes += weight(e)
	}
	if bytes > maxTailBytes || bytes < maxTailBytes/2 {
		t.Errorf("%d bytes stored", bytes)
	}
	for i := range maxTails {
		log.With("server", fmt.Sprint("s", i)).Debug(MessageStderr, "line", "x")
	}
	if n := len(events.tails); n != maxTails || len(events.Lines("loud", 0)) != 0 || len(events.Lines("s0", 0)) != 1 {
		t.Errorf("lines of %d servers stored", n)
	}
}
