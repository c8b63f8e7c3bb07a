package rollout

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// The outcome depends on the state, on whether the first attempt failed, and on whether the server is lazy.
func TestOutcomeOf(t *testing.T) {
	for _, c := range []struct {
		name        string
		state       message.Phase
		failedFirst bool
		lazy        bool
		want        Outcome
	}{
		{"ready", message.Ready, false, false, Started},
		{"ready after a failure", message.Ready, true, false, Started},
		{"idle and lazy", message.Idle, false, true, Started},
		{"idle, waiting for its turn", message.Idle, false, false, Starting},
		{"connecting", message.Connecting, false, false, Starting},
		{"handshaking", message.Handshaking, false, false, Starting},
		{"syncing", message.Syncing, false, false, Starting},
		{"connecting after a failure", message.Connecting, true, false, Failed},
		{"waiting", message.Waiting, true, false, Failed},
		{"misconfigured", message.Misconfigured, false, false, Failed},
		{"needs a login", message.NeedsLogin, false, false, NeedsLogin},
		{"disabled", message.Disabled, false, false, Failed},
	} {
		got := Change{Server: "x", Runs: true, Lazy: c.lazy}.OutcomeOf(&status.Server{Name: "x", State: string(c.state), FailedFirst: c.failedFirst})
		if got != c.want {
			t.Errorf("%s: outcome %d, want %d", c.name, got, c.want)
		}
	}
	if got := (Change{Server: "x", Runs: true}).OutcomeOf(nil); got != Unknown {
		t.Errorf("no server: outcome %d, want %d", got, Unknown)
	}
}

// A draining server does not hide its successor of the same name.
func TestFind(t *testing.T) {
	s := &status.Snapshot{Servers: []status.Server{{Name: "x", State: string(message.Ready), Tools: 1}, {Name: "x", State: string(message.Draining), Tools: 2}, {Name: "y"}}}
	if got := find(s, "x"); got == nil || got.Tools != 1 {
		t.Errorf("found %+v, want the ready server", got)
	}
	s.Servers[0].State, s.Servers[1].State = s.Servers[1].State, s.Servers[0].State
	if got := find(s, "x"); got == nil || got.Tools != 2 {
		t.Errorf("found %+v, want the ready server", got)
	}
	if got := find(s, "z"); got != nil {
		t.Errorf("found %+v, want none", got)
	}
}
