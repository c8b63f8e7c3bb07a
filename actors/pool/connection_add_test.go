package pool

import (
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// Leased connections are spread evenly over the replicas that may carry the calls.
func TestLeasedConnectionsAreSpread(t *testing.T) {
	for _, replicas := range []int{1, 2, 3} {
		w := readyReplicas(t, config.Server{Isolation: isolationLeased, MaxBackends: 3 * replicas}, replicas)
		for seq := range uint64(3 * replicas) {
			w.dispatch(seq)
			w.spawned()
			for i, conn := range w.s.replicas.connections {
				if conn.phase != message.Ready {
					w.step(message.BackendChanged{Backend: w.backends[i], Replica: conn.replica, Phase: message.Ready, Info: &message.ServerInfo{}})
				}
			}
		}
		w.dispatch(100)
		count := map[int]int{}
		for _, conn := range w.s.replicas.connections {
			count[conn.replica]++
		}
		for replica := range replicas {
			if count[replica] != 3 {
				t.Errorf("%d replicas: connections by replica %v, want 3 each", replicas, count)
			}
		}
		if len(count) != replicas || len(w.sent) != 3*replicas {
			t.Errorf("%d replicas: connections %v, %d calls run", replicas, count, len(w.sent))
		}
	}
}

// The connections of tenants are spread evenly over the replicas, too.
func TestTenantConnectionsAreSpread(t *testing.T) {
	w := readyReplicas(t, config.Server{Isolation: "session", MaxBackends: 9}, 3)
	for i, client := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		w.own(client, uint64(i))
	}
	count := map[int]int{}
	for _, conn := range w.s.replicas.connections {
		if !conn.main {
			count[conn.replica]++
		}
	}
	if count[0] != 3 || count[1] != 3 || count[2] != 3 {
		t.Errorf("connections by replica %v, want 3 each", count)
	}
}
