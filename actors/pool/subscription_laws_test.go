package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A server that does not know resources/subscribe is not asked again. Any other refusal is retried.
func TestUnknownMethodIsNotRetried(t *testing.T) {
	for code, retried := range map[int]int{-32601: 0, -32602: 1, 32601: 1} {
		w := newSubscribers(t, 1)
		w.subscribe(0, 1, "a")
		w.answer("a", true)
		w.lose(0)
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
		timers := 0
		for _, timer := range w.wakeups(w.queried("a", protocol.AppendError(nil, []byte("1"), code, "no", nil))) {
			if timer.Msg == any(retryDue{}) {
				timers++
			}
		}
		if timers != retried {
			t.Errorf("code %d: retried %d times, want %d", code, timers, retried)
		}
	}
}

// A subscriber that unsubscribes while its request is open still gets the answer. One whose client ends gets none. The answers to
// others do not change.
func TestSubscriberLeavesBeforeTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(*subscribers)
		told  []string
	}{
		"unsubscribes":    {func(w *subscribers) { w.do(message.UnsubscribeURI{From: w.who[0], URI: "a"}) }, []string{"answer 1: false", "answer 2: false"}},
		"its client ends": {func(w *subscribers) { w.do(message.UnsubscribeAll{From: w.who[0]}) }, []string{"answer 2: false"}},
		"unsubscribes, and its client ends": {func(w *subscribers) {
			w.do(message.UnsubscribeURI{From: w.who[0], URI: "a"})
			w.do(message.UnsubscribeAll{From: w.who[0]})
		}, []string{"answer 2: false"}},
		"another URI": {func(w *subscribers) { w.do(message.UnsubscribeURI{From: w.who[0], URI: "b"}) }, []string{"answer 1: false", "answer 2: false"}},
	} {
		w := newSubscribers(t, 1)
		w.subscribe(0, 1, "a")
		w.subscribe(1, 2, "a")
		c.leave(w)
		w.told = nil
		w.answer("a", false)
		if w.want(c.told...); w.s.subscriptions.byKey[subKey{uri: "a"}] != nil {
			t.Errorf("%s: the refused subscription is kept", name)
		}
	}
}

// A client that was subscribed before stays subscribed when its repeated request fails, unless it has unsubscribed
// meanwhile. Other subscribers that unsubscribe do not change that.
func TestEarlierSubscriberStays(t *testing.T) {
	for leaves, stays := range map[int]bool{-1: true, 0: false, 1: true} {
		w := newSubscribers(t, 1)
		w.subscribe(0, 1, "a")
		w.subscribe(1, 2, "a")
		w.answer("a", true)
		w.lose(0)
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
		w.subscribe(0, 3, "a")
		if leaves >= 0 {
			w.do(message.UnsubscribeURI{From: w.who[leaves], URI: "a"})
		}
		w.answer("a", false)
		sub := w.s.subscriptions.byKey[subKey{uri: "a"}]
		if got := sub != nil && sub.subscribers.Has(w.who[0]); got != stays {
			t.Errorf("client %d leaves: client 0 is subscribed: %v, want %v", leaves, got, stays)
		}
	}
}

// When another client ends, an open request is answered later as usual.
func TestUnsubscribeAllOfAnotherClient(t *testing.T) {
	w := newSubscribers(t, 1)
	w.subscribe(0, 1, "a")
	w.do(message.UnsubscribeAll{From: w.who[1]})
	w.told = nil
	w.answer("a", true)
	w.want("answer 1: true")
}

// A tenant's subscriptions are restored in order of their URIs, so that every run opens the same connection.
func TestRestoredInOrder(t *testing.T) {
	for range 20 {
		w := newTenants(t, 8)
		w.s.server.Command = "x"
		for i, uri := range []string{"a", "b", "c", "d"} {
			own := ownOf(0)
			own.Can = message.CapabilitySet(i)
			w.do(message.Resubscribe{From: w.who[0], Own: own, URIs: []string{uri}})
		}
		w.s.replicas.connections = w.s.replicas.connections[:1]
		_, spawns := told[message.Query, spawn](w.world, retryDue{})
		if len(spawns) != 1 || spawns[0].announce != 0 {
			t.Fatalf("started %+v, want one connection for the first URI", spawns)
		}
	}
}

// Each subscriber's wait ends exactly at queue.timeout.
func TestSubscribersWaitTheirOwnTime(t *testing.T) {
	w := newSubscribers(t, 1)
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Connecting})
	w.told = nil
	w.subscribe(0, 1, "a")
	w.after(time.Second)
	w.subscribe(1, 2, "b")
	w.after(queue.Timeout - time.Second)
	var next []kernel.Wake
	for _, e := range step(w.s, w.now, subscribesDue{}, nil) {
		if wake, is := e.Act.(kernel.Wake); is {
			next = append(next, wake)
		}
		if m, is := e.Msg.(message.SubscribeURIResult); is && m.Seq != 1 {
			t.Errorf("request %d was answered too early", m.Seq)
		}
	}
	if len(next) != 1 || next[0].After != time.Second || next[0].Msg != any(subscribesDue{}) {
		t.Errorf("timers %v, want one of a second", next)
	}
	w.after(time.Second)
	w.do(subscribesDue{})
	w.want("answer 2: false")
}

// The identity of a group's catalog depends on the members that run.
func TestIdentityOfAGroup(t *testing.T) {
	member := func(command string, change func(*config.Server)) config.Server {
		m := config.Server{Command: command}
		change(&m)
		return m
	}
	same := func(*config.Server) {}
	both := CatalogIdentity(config.Server{Members: []config.Server{member("a", same), member("b", same)}})
	one := CatalogIdentity(config.Server{Members: []config.Server{member("a", same)}})
	for name, change := range map[string]func(*config.Server){
		"disabled":      func(s *config.Server) { s.Disabled = true },
		"misconfigured": func(s *config.Server) { s.Fault = "no variable X" },
	} {
		if got := CatalogIdentity(config.Server{Members: []config.Server{member("a", same), member("b", change)}}); got != one || got == both {
			t.Errorf("a member that is %s changes the identity", name)
		}
	}
}
