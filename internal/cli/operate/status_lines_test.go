package operate

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// Each change that matters to a person gives one sentence without control characters. Other changes give none.
func TestSentences(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	was := &status.Snapshot{}
	for _, step := range []struct {
		is   status.Snapshot
		want []string
	}{
		{status.Snapshot{Version: "v1", Started: start, Listen: []string{"127.0.0.1:8730"}, Waiting: []string{"files"}, Servers: []status.Server{{Name: "files", State: "connecting"}}},
			[]string{"Gateway v1 on 127.0.0.1:8730 is starting, waiting for files.", "Server files is connecting."}},
		{status.Snapshot{Version: "v1", Started: start, Listen: []string{"127.0.0.1:8730"}, Ready: true, Servers: []status.Server{{Name: "files", State: "ready", Replicas: 2, ReadyCount: 1}, {Name: "web", State: "waiting", Reason: "exit 1\x1b[2J"}}},
			[]string{"Gateway v1 on 127.0.0.1:8730 is ready.", "Server files is ready with 1 of 2 connections.", `Server web is waiting: exit 1\x1b[2J`}},
		{status.Snapshot{Version: "v1", Started: start, Ready: true, Servers: []status.Server{{Name: "files", State: "ready", Replicas: 2, ReadyCount: 1, InFlight: 3}}, Sessions: []status.Session{{ID: "abc", Client: "editor 1.98"}},
			ConfigFault: &status.ConfigFault{Reason: "goblin.yaml:3:5: unknown key"}},
			[]string{"The changed configuration was rejected; the previous one is in force: goblin.yaml:3:5: unknown key", "Server web is gone.", "A session of editor 1.98 has begun."}},
		{status.Snapshot{Version: "v1", Started: start, Ready: true, Draining: true, Servers: []status.Server{{Name: "files", State: "ready", Replicas: 2, ReadyCount: 2}}, Calls: []status.Call{{ID: "x"}}},
			[]string{"Gateway v1 on  is draining.", "The configuration file is in force again.", "Server files is ready.", "A session of editor 1.98 has ended."}},
	} {
		if got := sentences(was, &step.is); !slices.Equal(got, step.want) {
			t.Errorf("got %q\nwant %q", got, step.want)
		}
		was = &step.is
	}
	if got := sentences(was, was); got != nil {
		t.Errorf("without a change: got %q", got)
	}
}
