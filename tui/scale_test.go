package tui

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// Sizes of the large gateway of the tests.
const (
	largeTools    = 10_000
	largeSessions = 1000
	largeCalls    = 500 // in flight
)

// largeSnapshot returns the state of a gateway with many tools, many sessions and calls in flight. Each has newer numbers than
// the one before.
func largeSnapshot(round int) *status.Snapshot {
	s := *samplePicture().Snapshot
	s.Now = noon.Add(time.Duration(round) * 100 * time.Millisecond)
	s.Catalog.Version = largeItems().Version
	for i := range largeSessions {
		s.Sessions = append(s.Sessions, status.Session{ID: fmt.Sprintf("s%07d", i), Client: "agent 2.1", Protocol: "2025-11-25", Transport: "http", Since: noon, LastSeen: noon, InFlight: (i + round) % 3})
		s.Actors = append(s.Actors, status.Actor{Name: fmt.Sprintf("gateway/session/s%07d", i), Kind: "session", Handled: uint64(i + round)})
	}
	for i := range largeCalls {
		s.Calls = append(s.Calls, status.Call{ID: fmt.Sprint(i), Session: fmt.Sprintf("s%07d", 2*i), Server: "files", Method: "tools/call", Item: "read_file", State: "written", Began: noon.Add(time.Duration(i) * time.Millisecond)})
	}
	return &s
}

// largePicture returns a large gateway, all of whose tools were called, with as many finished calls as the console keeps.
func largePicture(round int) *Picture {
	p := *samplePicture()
	p.Snapshot = largeSnapshot(round)
	p.Items, p.listed = largeItems(), largeRows()
	p.past = largePast().with(largeFinished(round), nil)
	p.Usage, p.used = largeUsage(round/10), noon.Add(time.Duration(round/10)*time.Second)
	p.calls = p.called() // as the pump does
	return &p
}

var largeItems = sync.OnceValue(func() *status.Items {
	items := &status.Items{Version: 77}
	for i := range largeTools {
		items.Tools = append(items.Tools, status.Item{Server: "files", Public: fmt.Sprintf("files_tool_%05d", i*7919%largeTools), Original: fmt.Sprintf("tool_%05d", i), Description: "does a thing, and another thing: " + fmt.Sprint(i)})
	}
	return items
})

var largeRows = sync.OnceValue(func() *listings { return listed(largeItems()) })

// largeUsage returns the counters of all tools after some seconds.
func largeUsage(second int) []status.ItemUsage {
	all := make([]status.ItemUsage, largeTools)
	for i := range all {
		all[i] = status.ItemUsage{Kind: "tool", Server: "files", Original: fmt.Sprintf("tool_%05d", i), Calls: uint64(i + second + 1), Seconds: float64(i), Last: noon}
	}
	return all
}

// largeFinished returns fifty calls.
func largeFinished(round int) []status.FinishedCall {
	calls := make([]status.FinishedCall, 50)
	for i := range calls {
		calls[i] = status.FinishedCall{Number: uint64(1_000_000 + round*50 + i), Session: "s0000001", Client: "agent 2.1", Server: "files", Method: "tools/call", Item: "read_file", Public: "files_read_file",
			Outcome: "ok", Began: noon.Add(time.Duration(round*50+i) * 2 * time.Millisecond), Seconds: .004}
	}
	return calls
}

var largePast = sync.OnceValue(func() past {
	all := past{}
	for i := range maxFinished / 50 {
		all = all.with(largeFinished(-i-1), nil)
	}
	return all
})

// BenchmarkKey measures how long the console of a large gateway takes to handle a key and draw the screen.
func BenchmarkKey(b *testing.B) {
	for _, c := range []struct{ name, open, keys string }{
		{"tools/filter", ":tools<enter>/", "thing<backspace><backspace><backspace><backspace><backspace>"},
		{"tools/sort", "2", "NC"},
		{"tools/move", "2", "<down>"},
		{"calls/move", "6", "<down>"},
		{"calls/filter", "6/", "read<backspace><backspace><backspace><backspace>"},
		{"sessions/sort", "7", "NC"},
		{"actors/move", "8", "<down>"},
		{"overview/open", "", "02"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newTestConsole(b, 120, 40, Options{})
			s.app.take(largePicture(0))
			s.press(c.open)
			keys := separate(c.keys)
			var all []time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				s.press(keys[i%len(keys)])
				s.draw()
				all = append(all, time.Since(began))
			}
			b.ReportMetric(float64(percentile(all, 99).Microseconds())/1000, "p99-ms")
		})
	}
}

// separate returns the keys of a script.
func separate(script string) []string {
	var keys []string
	for script != "" {
		n := 1
		if script[0] == '<' {
			n = strings.IndexByte(script, '>') + 1
		}
		keys = append(keys, script[:n])
		script = script[n:]
	}
	return keys
}

func percentile(all []time.Duration, percent int) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*percent/100]
}

// BenchmarkPicture measures how long the console takes to show a newer Picture of a large gateway.
func BenchmarkPicture(b *testing.B) {
	for _, view := range []string{"overview", "servers", "sessions", "calls", "tools", "tools sorted", "subscriptions", "actors", "logs", "metrics"} {
		b.Run(strings.ReplaceAll(view, " ", "-"), func(b *testing.B) {
			s := newTestConsole(b, 120, 40, Options{})
			name, sorted, _ := strings.Cut(view, " ")
			s.press(":" + name + "<enter>")
			if sorted != "" {
				s.press("N")
			}
			var pictures []*Picture
			for i := range 3 {
				pictures = append(pictures, largePicture(10*i))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.app.take(pictures[i%len(pictures)])
				s.draw()
			}
		})
	}
}
