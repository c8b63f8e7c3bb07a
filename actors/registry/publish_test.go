package registry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

func rules(name string, internal bool) any {
	return message.SetServerRules{Server: catalog.Server{Name: name, Internal: internal}}
}

// references returns n different references. The actors behind them do nothing.
func references(t *testing.T, n int) []kernel.Reference {
	t.Helper()
	system := kernel.New(kernel.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(func() { actortest.Stop(t, system) })
	refs := make([]kernel.Reference, n)
	for i := range refs {
		refs[i] = actortest.NewProbe(system, fmt.Sprint("p", i)).Reference
	}
	return refs
}

// published counts the snapshots that the effects send to each subscriber. It also reports whether more are to follow.
func published(effects []kernel.Effect, counts map[kernel.Reference]int) (more bool) {
	for _, e := range effects {
		switch e := e.Act.(type) {
		case publish:
			for _, to := range e.to {
				counts[to]++
			}
		case notifyMore:
			more = true
		}
	}
	return more
}

// Nothing is published before all expected servers are known or firstWait has passed. The gateway's own tools do not count, and neither
// do lists whose rules are missing.
func TestExpectedServers(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name      string
		expect    int
		steps     []any
		version   int64 // of the snapshot after the steps; 0 = none was published
		firstOver int64 // version after firstWait
	}{
		{"no servers expected", 0, []any{rules("a", false)}, 1, 2},
		{"rules of one of two servers", 2, []any{rules("a", false)}, 0, 1},
		{"rules of both servers", 2, []any{rules("a", false), rules("b", false)}, 1, 1},
		{"the gateway's own tools", 1, []any{rules("own", true)}, 0, 1},
		{"lists without rules", 1, []any{message.ServerCatalog{Server: "a", Kind: protocol.Tools, Items: items("t")}}, 0, 1},
		{"no rules of the only server", 1, nil, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(Options{Naming: naming, Expect: tt.expect})
			first := s.snapshot.Version
			timers := 0
			for _, e := range s.step(now, kernel.Started{}, nil) {
				if wake, ok := e.Act.(kernel.Wake); ok && wake.Msg == (firstOver{}) {
					timers++
				}
			}
			if want := min(tt.expect, 1); timers != want {
				t.Errorf("Started sets %d timers, want %d", timers, want)
			}
			for _, msg := range tt.steps {
				s.step(now, msg, nil)
			}
			if got := int64(s.snapshot.Version - first); got != tt.version {
				t.Errorf("after the steps: version %d, want %d", got, tt.version)
			}
			if tt.expect == 0 {
				return
			}
			s.step(now.Add(firstWait), firstOver{}, nil)
			if got := int64(s.snapshot.Version - first); got != tt.firstOver {
				t.Errorf("after firstWait: version %d, want %d", got, tt.firstOver)
			}
		})
	}
}

// A subscriber is notified when it subscribes, unless the first snapshot still waits for the expected servers.
func TestSubscribeWhileServersAreExpected(t *testing.T) {
	now, refs := time.Unix(1e9, 0), references(t, 2)
	s := newState(Options{Naming: naming, Expect: 1})
	counts := map[kernel.Reference]int{}
	published(s.step(now, kernel.Started{}, nil), counts)
	published(s.step(now, message.Subscribe{From: refs[0]}, nil), counts)
	if counts[refs[0]] != 0 {
		t.Error("a snapshot was sent before the expected server was known")
	}
	published(s.step(now, rules("a", false), nil), counts)
	published(s.step(now, message.Subscribe{From: refs[1]}, nil), counts)
	if counts[refs[0]] != 1 || counts[refs[1]] != 1 {
		t.Errorf("%d and %d snapshots were sent, want one each", counts[refs[0]], counts[refs[1]])
	}
}

// While a snapshot is sent to the subscribers in slices, subscribers are added and removed. Each that remains receives it, and
// those that were there before receive it exactly once.
func TestSubscribersChangeDuringNotification(t *testing.T) {
	for _, total := range []int{slice, slice + 1, 2 * slice} {
		for _, leave := range []int{0, slice - 1, slice, total - 1} {
			for _, join := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d, %d leaves, join %v", total, leave, join), func(t *testing.T) {
					now, refs := time.Unix(1e9, 0), references(t, total+1)
					s := newState(Options{Naming: naming})
					for _, ref := range refs[:total] {
						s.step(now, message.Subscribe{From: ref}, nil)
					}
					counts := map[kernel.Reference]int{}
					more := published(s.step(now, rules("a", false), nil), counts)
					if more != (total > slice) {
						t.Fatalf("more %v for %d subscribers", more, total)
					}
					if leave < total {
						published(s.step(now, message.Unsubscribe{From: refs[leave]}, nil), counts)
					}
					if join {
						published(s.step(now, message.Subscribe{From: refs[total]}, nil), counts)
					}
					for more {
						more = published(s.step(now, notifyMore{s.snapshot.Version}, nil), counts)
					}
					for i, ref := range refs[:total] {
						if n := counts[ref]; n != 1 && (i != leave || n > 1) {
							t.Errorf("subscriber %d received the snapshot %d times", i, n)
						}
					}
					if join && counts[refs[total]] == 0 {
						t.Error("the new subscriber received no snapshot")
					}
					if len(s.subscribers) != s.notified {
						t.Errorf("%d of %d subscribers count as notified", s.notified, len(s.subscribers))
					}
				})
			}
		}
	}
}

// The gap between early snapshots grows with the catalog.
func TestGapGrowsWithCatalog(t *testing.T) {
	for items, want := range map[int]time.Duration{0: earlyLeast, 50: earlyLeast, 51: 51 * earlyAnItem, 10_000: 200 * time.Millisecond} {
		var p pace
		p.published(time.Unix(1e9, 0), true, false, items)
		if p.gap != want {
			t.Errorf("%d items: gap %v, want %v", items, p.gap, want)
		}
	}
}

// If the changed servers fit into the log message, all are logged. Otherwise a hint replaces the others.
func TestLogLines(t *testing.T) {
	for _, servers := range []int{1, logLines, logLines + 1} {
		var changes []status.CatalogChange
		for i := range servers {
			changes = append(changes, status.CatalogChange{Server: fmt.Sprintf("s%02d", i), Topic: "tool-changed", Added: []string{"a"}})
		}
		out := lines(changes)
		want := min(servers, logLines+1)
		if len(out) != want {
			t.Errorf("%d servers: %d lines, want %d", servers, len(out), want)
		}
		if hint := strings.Contains(fmt.Sprint(out[len(out)-1]), "and more servers"); hint != (servers > logLines) {
			t.Errorf("%d servers: hint %v", servers, hint)
		}
	}
}

// A new snapshot without a visible change logs nothing and does not delay logging of the next change.
func TestLogAfterInvisibleChange(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := newState(Options{Naming: naming})
	s.changeLog.waiting = true
	s.changeLog.of = catalog.Build(nil, nil, naming)
	if out := s.logChanges(now, nil); len(out) > 0 || !s.changeLog.at.IsZero() {
		t.Errorf("logChanges without a change: %v, at %v", out, s.changeLog.at)
	}
}
