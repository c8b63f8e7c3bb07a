package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// largePicture returns a gateway with 10 000 tools, 1000 sessions and as many finished calls as the console keeps. Each
// Picture has a few newer calls than the one before.
func largePicture(round int) *Picture {
	p := *samplePicture()
	s := *p.Snapshot
	s.Now = noon.Add(time.Duration(round) * 100 * time.Millisecond)
	for i := range 1000 {
		s.Sessions = append(s.Sessions, status.Session{ID: fmt.Sprintf("s%07d", i), Client: "agent 2.1", Protocol: "2025-11-25", Transport: "http", Since: noon, LastSeen: noon})
		s.Actors = append(s.Actors, status.Actor{Name: fmt.Sprintf("gateway/session/s%07d", i), Kind: "session", Handled: uint64(i + round)})
	}
	p.Snapshot = &s
	if largeItems.Tools == nil {
		for i := range 10_000 {
			largeItems.Tools = append(largeItems.Tools, status.Item{Server: "files", Public: fmt.Sprintf("files_tool_%05d", i), Description: "does a thing, and another thing"})
		}
	}
	p.Items = largeItems
	calls := make([]status.FinishedCall, 50)
	for i := range calls {
		calls[i] = status.FinishedCall{Number: uint64(100 + round*50 + i), Session: "s0000001", Client: "agent 2.1", Server: "files", Method: "tools/call", Item: "read_file", Public: "files_read_file",
			Outcome: "ok", Began: s.Now, Seconds: .004}
	}
	if largePast.Finished == nil {
		largePast = p.past
		for range maxFinished / len(calls) {
			largePast = largePast.with(calls, nil)
		}
	}
	p.past = largePast.with(calls, nil)
	return &p
}

var (
	largeItems = &status.Items{Version: 77}
	largePast  past
)

// BenchmarkKey measures the time from a key to the screen of a large gateway: see largePicture.
func BenchmarkKey(b *testing.B) {
	for _, c := range []struct{ name, open, key string }{
		{"tools/filter", ":tools<enter>/", "thing<backspace><backspace><backspace><backspace><backspace>"},
		{"calls/move", "6", "<down>"},
		{"sessions/move", "7", "<down>"},
		{"actors/move", "8", "<down>"},
		{"tools/sort", "2", "N"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newTestConsole(b, 120, 40, Options{})
			s.app.take(largePicture(0))
			s.press(c.open)
			var all []time.Duration
			for b.Loop() {
				began := time.Now()
				s.press(c.key)
				s.draw()
				all = append(all, time.Since(began))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkPicture measures how long the console takes to show a newer Picture of a large gateway.
func BenchmarkPicture(b *testing.B) {
	for _, view := range []string{"overview", "servers", "sessions", "calls", "tools", "subscriptions", "actors", "logs", "metrics"} {
		b.Run(view, func(b *testing.B) {
			s := newTestConsole(b, 120, 40, Options{})
			s.press(":" + view + "<enter>")
			pictures := []*Picture{largePicture(0), largePicture(1), largePicture(2)}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.app.take(pictures[i%len(pictures)])
				s.draw()
			}
		})
	}
}
