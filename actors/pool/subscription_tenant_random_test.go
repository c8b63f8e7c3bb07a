package pool

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// After random messages in random order, each subscribe request was answered once, and each connection has carried only its
// tenant's subscriptions and notifications. Once all clients have left, no state remains.
func TestRandomTenants(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		w := newTenants(t, 1+rng.IntN(4))
		clientOf := func(ref kernel.Reference) string {
			if conn := w.s.replicas.byBackend(ref); conn != nil && conn.tenant != nil {
				return conn.tenant.Client
			}
			return ""
		}
		open := map[uint64]bool{}
		var due []graceOver
		do := func(msg any) {
			from := "" // tenant of the connection that reported the change
			if u, ok := msg.(message.ResourceChanged); ok {
				from = clientOf(u.Backend)
			}
			for _, e := range step(w.s, w.now, msg, nil) {
				switch m := e.Msg.(type) {
				case message.SubscribeURIResult:
					if !open[m.Seq] {
						t.Fatalf("seed %d: subscribe %d was answered twice, or after its client had left", seed, m.Seq)
					}
					delete(open, m.Seq)
				case message.Query:
					if client, of := clientOf(e.To), w.s.subscriptions.queries[m.Key].key.tenant; "session "+client != of {
						t.Fatalf("seed %d: a subscription of %s was requested on a connection of %q", seed, of, client)
					}
				case message.ResourceUpdated:
					if i := slices.Index(w.who, e.To); from != "" && ownOf(i).Client != from {
						t.Fatalf("seed %d: client %d got a notification for %s", seed, i, from)
					}
				}
				if a, ok := e.Act.(kernel.Wake); ok {
					if d, ok := a.Msg.(graceOver); ok {
						due = append(due, d)
					}
				}
			}
			w.spawned()
		}
		answer := func() {
			if len(w.s.subscriptions.queries) > 0 {
				key := slices.Min(slices.Collect(maps.Keys(w.s.subscriptions.queries)))
				m, q := message.QueryResult{Key: key}, w.s.subscriptions.queries[key]
				switch {
				case q.conn.phase != message.Ready:
					m.Fault = &protocol.Fault{Name: protocol.ServerUnavailable}
				case rng.IntN(5) == 0:
					_ = m.Frame.Parse(protocol.AppendError(nil, []byte("1"), -32002, "no", nil))
				default:
					_ = m.Frame.Parse(protocol.AppendResult(nil, []byte("1"), []byte("{}")))
				}
				do(m)
			}
		}
		for seq := range uint64(200) {
			client, uri := rng.IntN(3), []string{"x", "y"}[rng.IntN(2)]
			conn := w.s.replicas.connections[rng.IntN(len(w.s.replicas.connections))]
			switch rng.IntN(12) {
			case 0, 1, 2:
				open[seq] = true
				do(message.SubscribeURI{From: w.who[client], Seq: seq, URI: uri, Own: ownOf(client)})
			case 3:
				do(message.UnsubscribeURI{From: w.who[client], Tenant: ownOf(client).Key, URI: uri})
			case 4:
				if len(open) == 0 {
					do(message.UnsubscribeAll{From: w.who[client]})
					do(message.ClientGone{Client: ownOf(client).Client})
				}
			case 5, 6:
				if !conn.leaving {
					phase := []message.Phase{message.Ready, message.Ready, message.Connecting, message.Waiting}[rng.IntN(4)]
					do(message.BackendChanged{Backend: conn.ref, Phase: phase, Info: &message.ServerInfo{}, Incarnation: seq, Reason: "x"})
				}
			case 7:
				if conn.leaving {
					do(kernel.ChildStopped{Child: conn.ref})
				}
			case 8:
				u, _ := message.UpdatedURI(uri)
				u.Backend = conn.ref
				do(u)
			case 9:
				if len(due) > 0 {
					d := due[0]
					due = due[1:]
					do(d)
				}
				do(retryDue{})
			default:
				answer()
			}
			held := 0
			for _, n := range w.s.subscriptions.perTenant {
				held += n
			}
			if held != len(w.s.subscriptions.byKey) {
				t.Fatalf("seed %d: %d subscriptions, but the counters of the tenants say %d", seed, len(w.s.subscriptions.byKey), held)
			}
		}
		w.now = w.now.Add(time.Hour)
		do(subscribesDue{})
		for _, conn := range w.s.replicas.connections {
			do(message.BackendChanged{Backend: conn.ref, Phase: message.Waiting, Reason: "x"})
			do(message.BackendChanged{Backend: conn.ref, Phase: message.Ready, Info: &message.ServerInfo{}, Incarnation: 1000})
		}
		for len(w.s.subscriptions.queries) > 0 {
			answer()
		}
		do(subscribesDue{})
		if len(open) > 0 {
			t.Fatalf("seed %d: unanswered %v", seed, open)
		}
		for client := range w.who {
			do(message.UnsubscribeAll{From: w.who[client]})
			do(message.ClientGone{Client: ownOf(client).Client})
		}
		for len(due)+len(w.s.subscriptions.queries) > 0 {
			for len(due) > 0 {
				d := due[0]
				due = due[1:]
				do(d)
			}
			answer()
		}
		w.empty()
	}
}
