package pool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// subscribers is a pool with subscribers. It records the requests to servers and the messages to subscribers.
type subscribers struct {
	*world
	who  []kernel.Reference
	keys map[string]uint64 // of the newest query about each URI
	told []string
}

func newSubscribers(t *testing.T, replicas int) *subscribers {
	w := &subscribers{world: newWorld(t, config.Server{Queue: queue}, replicas), keys: map[string]uint64{}}
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	for i := range 2 {
		w.who = append(w.who, actortest.NewProbe(system, fmt.Sprint("who", i)).Reference)
	}
	for i := range replicas {
		w.do(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Ready, Info: &message.ServerInfo{}})
	}
	return w
}

func (w *subscribers) do(msg any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.Query:
			uri := strings.Split(string(m.Params), `"`)[3]
			w.keys[uri] = m.Key
			w.told = append(w.told, fmt.Sprintf("%s %s at %d", m.Method, uri, slices.Index(w.backends, e.To)))
		case message.SubscribeURIResult:
			w.told = append(w.told, fmt.Sprintf("answer %d: %v", m.Seq, m.Fault == nil && m.Error == nil))
		case message.ResourceUpdated:
			w.told = append(w.told, fmt.Sprintf("updated %s to %d", m.URI, slices.Index(w.who, e.To)))
		}
	}
}

func (w *subscribers) subscribe(who int, seq uint64, uri string) {
	w.do(message.SubscribeURI{From: w.who[who], Seq: seq, URI: uri})
}

// answer answers the newest query about the URI.
func (w *subscribers) answer(uri string, yes bool) {
	if !yes {
		w.do(w.refusal(uri))
		return
	}
	w.do(w.queried(uri, protocol.AppendResult(nil, []byte("1"), []byte("{}"))))
}

// refusal returns an error response to the newest query about the URI.
func (w *subscribers) refusal(uri string) message.QueryResult {
	return w.queried(uri, protocol.AppendError(nil, []byte("1"), -32002, "no", nil))
}

func (w *subscribers) queried(uri string, raw []byte) message.QueryResult {
	q := message.QueryResult{Key: w.keys[uri]}
	if err := q.Frame.Parse(raw); err != nil {
		w.t.Fatal(err)
	}
	return q
}

func (w *subscribers) lose(i int) {
	w.do(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Waiting, Reason: "gone", NextAttempt: w.now.Add(2 * time.Second)})
}

func (w *subscribers) want(told ...string) {
	w.t.Helper()
	if !slices.Equal(w.told, told) {
		w.t.Errorf("messages\n%q, want\n%q", w.told, told)
	}
	w.told = nil
}

// A subscription that the server refuses on a new connection is retried with growing pauses. Its subscribers are
// notified of possibly missed changes when it is first refused, and again when it is accepted.
func TestRefusedSubscriptionIsRetried(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.lose(0)
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.want("resources/subscribe a at 0", "answer 1: true", "resources/subscribe a at 0")
	for i := range 12 {
		out := step(w.s, w.now, w.refusal("a"), nil)
		var pauses []time.Duration
		for _, e := range out {
			if wake, ok := e.Act.(kernel.Wake); ok {
				pauses = append(pauses, wake.After)
			}
		}
		if want := []time.Duration{min(time.Second<<i, 5*time.Minute)}; !slices.Equal(pauses, want) {
			t.Errorf("refused %d times: retried after %v, want %v", i+1, pauses, want)
		}
		if told := len(out) - len(pauses); told != 1 && i == 0 || told != 0 && i > 0 {
			t.Errorf("refused %d times: %d subscribers notified", i+1, told)
		}
		w.do(retryDue{})
		w.want("resources/subscribe a at 0")
	}
	w.answer("a", true)
	w.want("updated a to 0")
	w.do(message.UnsubscribeAll{From: w.who[0]})
	w.do(retryDue{}) // late
	w.want()
}

// Requirement S1.65: the subscriptions of a client that has left are forgotten, and end upstream after the grace period.
func TestSubscriberLeaves(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.do(message.UnsubscribeAll{From: w.who[0]})
	w.do(graceOver{subKey{uri: "a"}})
	w.answer("a", true)
	w.want("resources/subscribe a at 0", "answer 1: true", "resources/unsubscribe a at 0")
	if len(w.s.subscriptions.byKey)+len(w.s.subscriptions.queries)+len(w.s.subscriptions.turns) != 0 {
		t.Errorf("left: %d subscriptions, %d queries, %d turns", len(w.s.subscriptions.byKey), len(w.s.subscriptions.queries), len(w.s.subscriptions.turns))
	}
}

// A subscribe request is answered even if its client unsubscribes first, an earlier unsubscribe is in progress, or the
// pool stops.
func TestUnsubscribedBeforeTheAnswer(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.do(message.UnsubscribeURI{From: w.who[0], URI: "a"})
	w.answer("a", true)
	w.want("resources/subscribe a at 0", "answer 1: true")
	w.do(graceOver{subKey{uri: "a"}})
	w.subscribe(0, 2, "a") // waits for the unsubscribe in progress
	w.want("resources/unsubscribe a at 0")
	w.answer("a", true)
	w.answer("a", true)
	w.want("resources/subscribe a at 0", "answer 2: true", "updated a to 0")
	w.subscribe(0, 3, "b")
	w.do(message.UnsubscribeURI{From: w.who[0], URI: "b"})
	w.answer("b", false)
	w.want("resources/subscribe b at 0", "answer 3: false")
	w.subscribe(0, 4, "c")
	w.do(kernel.Stopping{})
	w.want("resources/subscribe c at 0", "answer 4: false")
}

// A client that subscribes and unsubscribes all the time starts one timer at a time. The grace period counts from the last
// unsubscribe.
func TestGraceCountsFromTheLastSubscriber(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.told = nil
	timers := 0
	do := func(msg any) {
		for _, e := range step(w.s, w.now, msg, nil) {
			if _, ok := e.Act.(kernel.Wake); ok {
				timers++
			}
			if _, ok := e.Msg.(message.Query); ok {
				w.told = append(w.told, "asked")
			}
		}
	}
	for seq := range uint64(1000) {
		do(message.UnsubscribeURI{From: w.who[0], URI: "a"})
		do(message.SubscribeURI{From: w.who[0], Seq: seq, URI: "a"})
	}
	do(message.UnsubscribeURI{From: w.who[0], URI: "a"})
	do(graceOver{subKey{uri: "a"}})
	w.want()
	do(graceOver{subKey{uri: "a"}})
	w.want("asked")
	if timers != 2 {
		t.Errorf("%d timers started, want 2", timers)
	}
}

// When the replica with a subscription is lost, the other one is used, and subscribers get its answer.
func TestSubscriptionsMoveToTheOtherReplica(t *testing.T) {
	w := newSubscribers(t, 2)
	w.subscribe(0, 1, "a")
	w.answer("a", true)
	w.subscribe(0, 2, "b")
	w.told = nil
	w.lose(0)
	w.subscribe(1, 3, "a")
	w.want("resources/subscribe a at 1")
	w.answer("a", true)
	w.want("answer 3: true", "updated a to 0", "updated a to 1")
	w.do(message.QueryResult{Key: w.keys["b"], Fault: &protocol.Fault{Name: protocol.ServerUnavailable}}) // failed with the connection
	w.answer("b", true)
	w.want("resources/subscribe b at 1", "answer 2: true")
	w.lose(1)
	w.subscribe(1, 4, "a")
	w.want("answer 4: false")
	w.phase(0, message.Ready)
	if len(w.s.subscriptions.queries) != 2 {
		t.Errorf("%d queries after the replica is ready again, want 2", len(w.s.subscriptions.queries))
	}
	w.do(kernel.ChildStopped{Child: w.backends[0]})
	if len(w.s.subscriptions.queries) != 0 {
		t.Error("queries to a stopped backend are still waited for")
	}
}

// The number of subscription requests in progress is limited, which leaves room for calls.
func TestRestoredSubscriptionsAreLimited(t *testing.T) {
	const many = 1100
	w := newSubscribers(t, 1)
	uris := map[string]bool{}
	for i := range many {
		uri := fmt.Sprint("r", i)
		uris[uri] = true
		w.subscribe(0, uint64(i), uri)
	}
	for round := range 2 {
		for len(w.s.subscriptions.turns)+len(w.s.subscriptions.queries) > 0 {
			if len(w.s.subscriptions.queries) > maxQueries {
				t.Fatalf("%d queries in progress, want at most %d", len(w.s.subscriptions.queries), maxQueries)
			}
			for _, q := range w.s.subscriptions.queries {
				w.answer(q.key.uri, true)
				break
			}
		}
		for uri := range uris {
			if w.s.subscriptions.byKey[subKey{uri: uri}] == nil || w.s.subscriptions.byKey[subKey{uri: uri}].conn == nil {
				t.Fatalf("round %d: no connection reports changes of %s", round, uri)
			}
		}
		w.lose(0)
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	}
}

// Subscribers of an earlier pool are subscribed again and notified that their resources may have changed.
func TestResubscribe(t *testing.T) {
	w := newSubscribers(t, 1)
	w.lose(0)
	w.do(message.Resubscribe{From: w.who[0], URIs: []string{"a", "b"}})
	w.want()
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.want("resources/subscribe a at 0", "resources/subscribe b at 0")
	w.answer("a", true)
	w.answer("b", false)
	w.want("updated a to 0", "updated b to 0")
	w.do(message.Resubscribe{From: w.who[1], URIs: []string{"a"}})
	w.want("updated a to 1")
}

// After random messages in random order, each subscribe request was answered once, and success is reported only if the
// server accepted the subscription. In the end, the leader has exactly the subscriptions with subscribers.
func TestRandomSubscriptions(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := newSubscribers(t, 2)
		uris := []string{"a", "b", "c"}
		var due []graceOver
		open, ready := map[uint64]int{}, []bool{true, true}
		do := func(msg any) {
			for _, e := range step(w.s, w.now, msg, nil) {
				switch m := e.Msg.(type) {
				case message.SubscribeURIResult:
					if open[m.Seq]--; open[m.Seq] != 0 {
						t.Fatalf("seed %d: subscribe %d was answered twice, or after its client had left", seed, m.Seq)
					}
					delete(open, m.Seq)
				case message.Query:
					if i := slices.Index(w.backends, e.To); !ready[i] {
						t.Fatalf("seed %d: query to replica %d, which is not ready", seed, i)
					}
				}
				if a, ok := e.Act.(kernel.Wake); ok {
					if d, ok := a.Msg.(graceOver); ok {
						due = append(due, d)
					}
				}
			}
		}
		answer := func(kind int) {
			for key := range w.s.subscriptions.queries {
				q := message.QueryResult{Key: key}
				raw := protocol.AppendResult(nil, []byte("1"), []byte("{}"))
				if kind == 1 {
					raw = protocol.AppendError(nil, []byte("1"), -32002, "no", nil)
				}
				if kind == 2 {
					q.Fault = &protocol.Fault{Name: protocol.ServerUnavailable}
				} else if err := q.Frame.Parse(raw); err != nil {
					t.Fatal(err)
				}
				do(q)
				return
			}
		}
		phase := func(i int, yes bool) {
			ready[i] = yes
			p := message.Waiting
			if yes {
				p = message.Ready
			}
			do(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: p, Info: &message.ServerInfo{}, Reason: "x"})
			for key, q := range w.s.subscriptions.queries { // a backend that loses its connection fails its queries
				if !yes && q.conn.ref == w.backends[i] {
					do(message.QueryResult{Key: key, Fault: &protocol.Fault{Name: protocol.ServerUnavailable}})
				}
			}
		}
		for seq := range uint64(150) {
			who, uri := w.who[rng.IntN(2)], uris[rng.IntN(3)]
			switch rng.IntN(8) {
			case 0, 1:
				open[seq] = 1
				do(message.SubscribeURI{From: who, Seq: seq, URI: uri})
			case 2:
				do(message.UnsubscribeURI{From: who, URI: uri})
			case 3:
				phase(rng.IntN(2), rng.IntN(3) > 0)
			case 4:
				if len(due) > 0 {
					d := due[0]
					due = due[1:]
					do(d)
				}
			case 5:
				do(message.Resubscribe{From: who, URIs: []string{uri}})
			default:
				answer(rng.IntN(6))
			}
		}
		phase(0, false) // refused subscriptions are retried on the next connection
		phase(1, false)
		phase(0, true)
		for len(w.s.subscriptions.queries)+len(due) > 0 {
			for len(due) > 0 {
				d := due[0]
				due = due[1:]
				do(d)
			}
			answer(0)
		}
		if len(open)+len(w.s.subscriptions.turns) > 0 {
			t.Fatalf("seed %d: unanswered %v, %d turns left", seed, open, len(w.s.subscriptions.turns))
		}
		for key, sub := range w.s.subscriptions.byKey {
			if sub.conn == nil || !sub.wanted() {
				t.Fatalf("seed %d: %v: has connection %v, %d subscribers", seed, key, sub.conn != nil, sub.subscribers.Len())
			}
		}
	}
}
