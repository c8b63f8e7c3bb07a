package monitor

import (
	"slices"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// The gateway is ready when clients see all lists of every enabled server. It does not wait for a server whose first
// start failed. A draining gateway is not ready.
func TestReady(t *testing.T) {
	settled := func(names ...string) map[string]bool {
		all := map[string]bool{}
		for _, name := range names {
			all[name] = true
		}
		return all
	}
	empty := map[string]status.Catalog{}
	cases := []struct {
		name    string
		servers []status.Server
		report  message.CatalogReport
		ready   bool
		waiting []string
		failed  []string
	}{
		{"the gateway does not answer", nil, message.CatalogReport{}, false, nil, nil},
		{"no servers", nil, message.CatalogReport{Counts: empty}, true, nil, nil},
		{"no pool has started", nil, message.CatalogReport{Counts: empty, Enabled: []string{"a"}}, false, []string{"a"}, nil},
		{"not settled", []status.Server{{Name: "a"}},
			message.CatalogReport{Counts: empty, Enabled: []string{"a"}}, false, []string{"a"}, nil},
		{"synced, not yet published", []status.Server{{Name: "a", Settled: true}},
			message.CatalogReport{Counts: empty, Enabled: []string{"a"}}, false, []string{"a"}, nil},
		{"published", []status.Server{{Name: "a", Settled: true}},
			message.CatalogReport{Counts: empty, Enabled: []string{"a"}, Settled: settled("a")}, true, nil, nil},
		{"one failed", []status.Server{{Name: "a", Settled: true}, {Name: "b", Settled: true, FailedFirst: true}},
			message.CatalogReport{Counts: empty, Enabled: []string{"a", "b"}, Settled: settled("a")}, true, nil, []string{"b"}},
		{"failed at first, ready now", []status.Server{{Name: "a", Settled: true, FailedFirst: true, ReadyCount: 1}, {Name: "b", Settled: true, FailedFirst: true, State: string(message.Idle)}},
			message.CatalogReport{Counts: empty, Enabled: []string{"a", "b"}, Settled: settled("a", "b")}, true, nil, nil},
		{"one disabled", nil,
			message.CatalogReport{Counts: empty, Disabled: []status.Server{{Name: "d", Settled: true}}}, true, nil, nil},
		{"draining", nil, message.CatalogReport{Counts: empty, Draining: true}, false, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := finish(&status.Snapshot{Servers: c.servers}, c.report)
			if got.Ready != c.ready || !slices.Equal(got.Waiting, c.waiting) || !slices.Equal(got.Failed, c.failed) {
				t.Errorf("finish: ready %v, waiting %q, failed %q; want %v, %q, %q", got.Ready, got.Waiting, got.Failed, c.ready, c.waiting, c.failed)
			}
		})
	}
}

// A request made during a survey is answered by the next one, because it may be about an event that the current one
// missed.
func TestRequestsDuringASurveyGetTheNext(t *testing.T) {
	s := &state{}
	ask := func() (message.GetStatus, bool) {
		m := message.GetStatus{Reply: make(chan *status.Snapshot, 1)}
		out := step(s, m, nil)
		return m, len(out) == 1 && out[0].Act == any(survey{})
	}
	first, begins := ask()
	if !begins {
		t.Fatal("the first request starts no survey")
	}
	second, begins := ask()
	third, again := ask()
	if begins || again {
		t.Fatal("two surveys run at once")
	}
	out := step(s, surveyed{new(status.Snapshot)}, nil)
	shown, is := out[0].Act.(show)
	if len(out) != 2 || !is || out[1].Act != any(survey{}) || len(shown.waiting) != 1 || shown.waiting[0].Reply != first.Reply {
		t.Fatalf("after the first survey: %+v", out)
	}
	out = step(s, surveyed{new(status.Snapshot)}, nil)
	if shown, is = out[0].Act.(show); len(out) != 1 || !is || len(shown.waiting) != 2 || shown.waiting[0].Reply != second.Reply || shown.waiting[1].Reply != third.Reply {
		t.Fatalf("after the second survey: %+v", out)
	}
	if step(s, kernel.Stopping{}, nil); s.answering != nil || s.waiting != nil {
		t.Error("requests are left after the stop")
	}
}

// For a queued call, the status shows what its server's pool says that queued calls wait for.
func TestQueuedCallsAreExplained(t *testing.T) {
	got := finish(&status.Snapshot{
		Servers: []status.Server{{Name: "a", QueueWaits: "a free slot of 64"}, {Name: "b"}},
		Calls:   []status.Call{{Server: "a"}, {Server: "a", WaitsFor: "the server"}, {Server: "b"}, {Server: "gone"}},
	}, message.CatalogReport{})
	for i, want := range []string{"a free slot of 64", "the server", "the server to accept the request", "the server to accept the request"} {
		if waits := got.Calls[i].WaitsFor; waits != want {
			t.Errorf("call %d waits for %q, want %q", i, waits, want)
		}
	}
}
