package pool

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func (w *world) prefer(seq uint64, required bool, key, value string) {
	p := &message.Prefer{Labels: map[string]string{key: value}, Required: required}
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake", Prefer: p}})
}

// regions returns a world with three ready replicas, two of which are in the same region.
func regions(t *testing.T, server config.Server) *world {
	server.Queue = wide
	w := newWorld(t, server, 3)
	for i, region := range []string{"eu", "us", "eu"} {
		w.s.replicas.connections[i].labels = map[string]string{"region": region, "tier": "1"}
		w.phase(i, message.Ready)
	}
	return w
}

// Requirement S4.2.2: preferred replicas take turns. If none is available, another replica gets the call.
func TestPreferredReplicas(t *testing.T) {
	w := regions(t, config.Server{})
	used := map[int]int{}
	for seq := range uint64(10) {
		w.prefer(seq, false, "region", "eu")
		used[w.at(seq)]++
	}
	if used[0] != 5 || used[2] != 5 {
		t.Errorf("replicas %v, want 0 and 2 in turn", used)
	}
	w.phase(0, message.Waiting)
	w.phase(2, message.Waiting)
	w.prefer(20, false, "region", "eu")
	w.prefer(21, false, "region", "mars")
	if w.at(20) != 1 || w.at(21) != 1 {
		t.Errorf("calls at replicas %d and %d, want the only ready one", w.at(20), w.at(21))
	}
}

// at returns the replica that runs a call, or -1 if none does.
func (w *world) at(seq uint64) int {
	for i, ref := range w.backends {
		if at, ok := w.sent[seq]; ok && at == ref {
			return i
		}
	}
	return -1
}

// A call whose required replica is not available fails at once, and the error says whether it can be retried.
func TestRequiredReplicas(t *testing.T) {
	w := regions(t, config.Server{})
	w.prefer(1, true, "region", "us")
	if w.at(1) != 1 {
		t.Errorf("call at replica %d, want 1", w.at(1))
	}
	w.prefer(2, true, "region", "mars")
	if f := w.fault(2, protocol.NoBackendsAvailable); f.Retryable || !strings.Contains(f.Message, "region=mars") {
		t.Errorf("label that no replica has: fault %v, want one that names it and is not retryable", f)
	}
	w.phase(1, message.Waiting)
	w.now = w.now.Add(time.Second)
	w.phase(1, message.Connecting)
	w.phase(1, message.Waiting)
	w.prefer(3, true, "region", "us")
	if f := w.fault(3, protocol.NoBackendsAvailable); !f.Retryable || !strings.Contains(f.Message, "region=us") {
		t.Errorf("replica that is not ready: fault %v, want one that names the label and is retryable", f)
	}
}

// A call that waits for a required replica does not delay other calls, and is sent when its replica is free.
func TestCallWaitsForItsRequiredReplica(t *testing.T) {
	w := regions(t, config.Server{Isolation: isolationLeased, MaxBackends: 3})
	w.prefer(1, true, "region", "us")
	w.prefer(2, true, "region", "us")
	w.dispatch(3)
	if w.at(1) != 1 || w.at(2) != -1 || w.at(3) == -1 {
		t.Errorf("calls at replicas %d, %d, %d; want the first at 1, the second queued (-1), and the third at any", w.at(1), w.at(2), w.at(3))
	}
	w.end(1)
	if w.at(2) != 1 {
		t.Errorf("the second call is at replica %d, want 1", w.at(2))
	}
}

// With balance least-busy, the least busy of the preferred replicas is used.
func TestLeastBusyOfThePreferred(t *testing.T) {
	w := regions(t, config.Server{Balance: "least-busy"})
	for seq := range uint64(4) {
		w.prefer(seq, true, "region", "eu")
	}
	w.end(0)
	first := w.backends[0]
	if w.sent[1] == first {
		w.end(1)
	}
	w.prefer(10, false, "region", "eu")
	w.prefer(11, false, "region", "eu")
	n := map[int]int{}
	for seq := range w.sent {
		n[w.at(seq)]++
	}
	if n[1] != 0 || max(n[0], n[2])-min(n[0], n[2]) > 1 {
		t.Errorf("calls by replica %v, want none at 1 and about as many at 0 as at 2", n)
	}
}
