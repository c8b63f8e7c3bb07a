package status

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestEventsAreStored(t *testing.T) {
	var e Events
	log := slog.New(e.Record(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})))
	log.With("server", "github", "replica", 0).WithGroup("g").Warn("server is not available", "err", errors.New("boom"))
	log.Debug("not for this log")
	got := e.After(0)
	if len(got) != 1 {
		t.Fatalf("After(0): %d events, want 1", len(got))
	}
	want := Event{Number: 1, Time: got[0].Time, Level: "WARN", Message: "server is not available", Server: "github", Fields: "replica=0 g.err=boom"}
	if got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if len(e.After(1)) != 0 || len(e.After(99)) != 0 {
		t.Error("After returned an old event")
	}
}

func TestEventsAreLimited(t *testing.T) {
	var e Events
	log := slog.New(e.Record(slog.DiscardHandler))
	if log.Enabled(t.Context(), slog.LevelError) {
		t.Fatal("the recorder is enabled for a level that its handler does not log")
	}
	log = slog.New(e.Record(slog.NewTextHandler(io.Discard, nil)))
	for range maxEvents + 10 {
		log.Info("x", "big", strings.Repeat("y", 10_000))
	}
	got := e.After(0)
	if len(got) != maxEvents || got[0].Number != 11 || got[maxEvents-1].Number != maxEvents+10 {
		t.Errorf("%d events stored, from %d to %d", len(got), got[0].Number, got[len(got)-1].Number)
	}
	if len(got[0].Fields) > maxEventText+4 {
		t.Errorf("fields of %d bytes", len(got[0].Fields))
	}
	if later := e.After(maxEvents + 5); len(later) != 5 || later[0].Number != maxEvents+6 {
		t.Errorf("After: got %d events from %d", len(later), later[0].Number)
	}
}
