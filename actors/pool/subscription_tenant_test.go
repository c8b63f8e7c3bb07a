package pool

import (
	"fmt"
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

// newTenants returns subscribers at a server where each client has its own connections, at most n in all.
func newTenants(t *testing.T, n int) *subscribers {
	w := &subscribers{world: isolated(t, n), keys: map[string]uint64{}}
	for i := range 3 {
		w.who = append(w.who, actortest.NewProbe(w.system, fmt.Sprint("who", i)).Reference)
	}
	return w
}

// ownOf returns the owner of a client's connections.
func ownOf(client int) *message.ConnectionOwner {
	name := string(rune('a' + client))
	return &message.ConnectionOwner{Tenant: &message.Tenant{Key: "session " + name, Client: name, Isolation: "session"}}
}

// ask subscribes for a client on its own connection, which is started if needed.
func (w *subscribers) ask(client int, seq uint64, uri string) {
	w.do(message.SubscribeURI{From: w.who[client], Seq: seq, URI: uri, Own: ownOf(client)})
	w.started()
}

// started makes every new connection ready.
func (w *subscribers) started() {
	before := len(w.backends)
	w.spawned()
	for _, ref := range w.backends[before:] {
		w.do(message.BackendChanged{Backend: ref, Phase: message.Ready, Info: &message.ServerInfo{}})
	}
}

// leaves sends the messages of a session that ends.
func (w *subscribers) leaves(client int) {
	w.do(message.UnsubscribeAll{From: w.who[client]})
	w.do(message.ClientGone{Client: ownOf(client).Client})
}

// empty checks that no subscription state is left.
func (w *subscribers) empty() {
	w.t.Helper()
	s := w.s
	if n := len(s.subscriptions.byKey) + len(s.subscriptions.perTenant) + len(s.subscriptions.queries) + len(s.subscriptions.queriesPerTenant) + len(s.subscriptions.turns); n > 0 {
		w.t.Errorf("left: %d subscriptions of %d tenants, %d queries of %d tenants, turns of %d tenants", len(s.subscriptions.byKey), len(s.subscriptions.perTenant), len(s.subscriptions.queries), len(s.subscriptions.queriesPerTenant), len(s.subscriptions.turns))
	}
}

// A tenant subscribes on its own connection, gets only the notifications of that connection, and is subscribed again after
// its loss.
func TestEachTenantSubscribesForItself(t *testing.T) {
	w := newTenants(t, 8)
	w.ask(0, 1, "x")
	w.want("resources/subscribe x at 1")
	w.answer("x", true)
	w.ask(1, 2, "x")
	w.want("answer 1: true", "resources/subscribe x at 2")
	w.answer("x", true)
	w.ask(1, 3, "x")
	w.want("answer 2: true", "answer 3: true")
	for at, told := range [][]string{nil, {"updated x to 0"}, {"updated x to 1"}} {
		u, _ := message.UpdatedURI("x")
		u.Backend = w.backends[at]
		w.do(u)
		w.want(told...)
		w.do(message.AllResourcesChanged{Backend: w.backends[at]})
		w.want(told...)
	}
	w.lose(1)
	w.ask(0, 4, "y")
	w.want("answer 4: false")
	w.do(message.BackendChanged{Backend: w.backends[1], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.want("resources/subscribe x at 1")
	w.answer("x", true)
	w.want("updated x to 0")
	w.do(kernel.ChildStopped{Child: w.backends[1]}) // stopped for good
	w.started()
	w.answer("x", true)
	w.want("resources/subscribe x at 3", "updated x to 0")
	late, _ := message.UpdatedURI("late")
	late.Backend = w.backends[1]
	w.do(late)
	w.do(message.ResourcesMentioned{Backend: w.backends[1], URIs: []string{"later"}})
	if w.s.tenants.sharedMentions.has("late") || w.s.tenants.sharedMentions.has("later") {
		t.Error("a mention by a connection that is gone is visible to other clients")
	}
	w.do(message.UnsubscribeURI{From: w.who[1], Tenant: ownOf(1).Key, URI: "x"})
	w.do(graceOver{subKey{ownOf(1).Key, "x"}})
	w.answer("x", true)
	w.want("resources/unsubscribe x at 2")
	w.leaves(0)
	w.do(graceOver{subKey{ownOf(0).Key, "x"}})
	w.want()
	w.empty()
	if n := len(w.connectionsOf("a")); n != 0 {
		t.Errorf("%d connections of a client that has left, want none", n)
	}
}

// A subscriber whose connection is lost before the answer waits for the next one, even while the main connection is lost.
func TestTenantsWaitForTheirNextConnection(t *testing.T) {
	w := newTenants(t, 8)
	w.ask(0, 1, "x")
	w.lose(0)
	w.do(message.BackendChanged{Backend: w.backends[1], Phase: message.Waiting, Reason: "gone", NextAttempt: w.now})
	w.do(message.QueryResult{Key: w.keys["x"], Fault: &protocol.Fault{Name: protocol.ServerUnavailable}})
	w.want("resources/subscribe x at 1")
	w.do(message.BackendChanged{Backend: w.backends[1], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.answer("x", true)
	w.want("resources/subscribe x at 1", "answer 1: true")
}

// A legacy client subscribes on a legacy connection if the server has both eras, and otherwise on a modern one.
func TestTenantsSubscribeInTheirEra(t *testing.T) {
	for name, end := range map[string]message.BackendChanged{
		"refused":     {Phase: message.Waiting, Reason: "no legacy era", Refused: true},
		"unreachable": {Phase: message.Waiting, Reason: "gone"},
	} {
		w := &subscribers{world: newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/mcp"}, Isolation: "session", MaxBackends: 8, Queue: wide}, 1), keys: map[string]uint64{}}
		w.who = []kernel.Reference{actortest.NewProbe(w.system, "who0").Reference}
		modern := &message.ServerInfo{Version: protocol.Version20260728}
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Syncing, Info: modern})
		w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: modern})
		w.do(message.SubscribeURI{From: w.who[0], Seq: 1, URI: "x", Own: ownOf(0)})
		w.spawned()
		if own := w.connectionsOf("a"); len(own) != 1 || !own[0].legacy {
			t.Fatalf("%s: the client has %d connections, want a legacy one", name, len(own))
		}
		end.Backend, end.NextAttempt = w.backends[1], w.now.Add(time.Hour)
		w.do(end)
		w.started()
		if own := w.connectionsOf("a"); len(own) == 0 || own[len(own)-1].legacy {
			t.Fatalf("%s: the client has %d connections, want the newest to be modern", name, len(own))
		}
		w.answer("x", true)
		w.want("resources/subscribe x at 2", "answer 1: true")
	}
}

// A connection with a subscription is closed neither to make room nor for being idle. Without room, a new subscriber gets an
// error. An earlier subscriber retries until there is room again.
func TestSubscriptionsKeepTheirConnection(t *testing.T) {
	w := newTenants(t, 1)
	w.ask(0, 1, "x")
	w.answer("x", true)
	w.told = nil
	refused, _ := told[message.SubscribeURIResult, spawn](w.world, message.SubscribeURI{From: w.who[1], Seq: 2, URI: "x", Own: ownOf(1)})
	if len(refused) != 1 || refused[0].Fault == nil || refused[0].Fault.Name != protocol.ServerUnavailable || !refused[0].Fault.Retryable || !strings.Contains(refused[0].Fault.Message, "maxBackends: 1") {
		t.Errorf("answers %v, want SERVER_UNAVAILABLE with maxBackends", refused)
	}
	w.own("c", 1)
	w.fault(1, protocol.ServerUnavailable)
	w.now = w.now.Add(100 * time.Hour)
	w.do(tenantsDue{})
	if len(w.connectionsOf("a")) != 1 || !w.s.tenants.sweepArmed {
		t.Fatal("a connection with a subscription was closed as idle")
	}
	again := func(msg any) (pauses []time.Duration) {
		for _, e := range step(w.s, w.now, msg, nil) {
			if a, ok := e.Act.(kernel.Wake); ok && a.Msg == any(retryDue{}) {
				pauses = append(pauses, a.After)
			}
		}
		return pauses
	}
	if got := again(message.Resubscribe{From: w.who[1], Own: ownOf(1), URIs: []string{"x"}}); !slices.Equal(got, []time.Duration{time.Second}) {
		t.Errorf("first retry after %v, want 1s", got)
	}
	if got := again(retryDue{}); !slices.Equal(got, []time.Duration{2 * time.Second}) {
		t.Errorf("second retry after %v", got)
	}
	w.do(message.UnsubscribeURI{From: w.who[0], Tenant: ownOf(0).Key, URI: "x"})
	w.do(graceOver{subKey{ownOf(0).Key, "x"}})
	w.answer("x", true)
	w.want("resources/unsubscribe x at 1")
	w.do(retryDue{})
	w.started()
	w.answer("x", true)
	w.want("resources/subscribe x at 2", "updated x to 1")
	if len(w.connectionsOf("a")) != 0 {
		t.Error("a connection without subscription was not closed to make room")
	}
	w.leaves(1)
	w.do(graceOver{subKey{ownOf(1).Key, "x"}})
	w.empty()
}

// Subscribers that wait for the server's start are subscribed on their own connections. Those that cannot get one get an
// error at once.
func TestTenantsSubscribeBeforeTheServerIsReady(t *testing.T) {
	w := &subscribers{world: newWorld(t, config.Server{Isolation: "session", MaxBackends: 1, Queue: wide}, 1), keys: map[string]uint64{}}
	w.who = []kernel.Reference{actortest.NewProbe(w.system, "who0").Reference, actortest.NewProbe(w.system, "who1").Reference}
	w.phase(0, message.Handshaking)
	w.ask(0, 1, "x")
	w.ask(1, 2, "x")
	w.want()
	w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	w.started()
	w.answer("x", true)
	w.want("answer 2: false", "resources/subscribe x at 1", "answer 1: true")
	w.leaves(0)
	w.ask(1, 3, "x")
	w.lose(2) // during its first attempt, or just after
	w.do(message.QueryResult{Key: w.keys["x"], Fault: &protocol.Fault{Name: protocol.ServerUnavailable}})
	w.want("resources/subscribe x at 2", "answer 3: false")
}

// A server that does not answer one tenant does not delay another tenant.
func TestTenantsDoNotWaitForEachOther(t *testing.T) {
	w := newTenants(t, 8)
	for i := range maxQueries + 10 {
		w.ask(0, uint64(i), fmt.Sprint("r", i))
	}
	if w.s.subscriptions.queriesPerTenant[ownOf(0).Key] != maxQueries || len(w.s.subscriptions.turns) != 1 {
		t.Fatalf("%d queries in progress, want %d", len(w.s.subscriptions.queries), maxQueries)
	}
	w.told = nil
	w.ask(1, 1000, "x")
	w.answer("x", true)
	w.want("resources/subscribe x at 2", "answer 1000: true")
}

// A reload that changes isolation ends the subscriptions and connections that no longer fit. Nothing is requested with the
// old settings anymore.
func TestReloadOfIsolation(t *testing.T) {
	for name, change := range map[string]func(*config.Server){
		"shared":    func(s *config.Server) { s.Isolation = "shared" },
		"principal": func(s *config.Server) { s.Isolation = "principal" },
		"headers":   func(s *config.Server) { s.ForwardHeaders = []config.ForwardHeader{{From: "X-A", To: "X-B"}} },
	} {
		w := newTenants(t, 8)
		w.ask(0, 1, "x")
		w.answer("x", true)
		w.ask(0, 2, "waits")
		w.told = nil
		next := w.s.server
		change(&next)
		w.do(message.Reconfigure{Server: next, Transport: true})
		w.want("answer 2: false", "updated x to 0")
		if len(w.connectionsOf("a")) != 0 {
			t.Errorf("%s: the tenant's connection was not closed", name)
		}
		w.do(message.QueryResult{Key: w.keys["waits"], Fault: &protocol.Fault{Name: protocol.BackendDisconnected}})
		w.do(message.Resubscribe{From: w.who[0], Own: ownOf(0), URIs: []string{"x"}})
		refused, spawns := told[message.SubscribeURIResult, spawn](w.world, message.SubscribeURI{From: w.who[0], Seq: 3, URI: "x", Own: ownOf(0)})
		if len(spawns) > 0 || len(refused) != 1 || refused[0].Fault == nil || refused[0].Fault.Name != protocol.ServerUnavailable || !refused[0].Fault.Retryable {
			t.Errorf("%s: with the old settings: %d connections started, answers %v; want none and a retryable error", name, len(spawns), refused)
		}
		w.do(graceOver{subKey{ownOf(0).Key, "x"}})
		w.do(graceOver{subKey{ownOf(0).Key, "waits"}})
		w.want()
		w.empty()
	}
	w := newSubscribers(t, 1) // from shared connections to isolated ones
	w.subscribe(0, 1, "x")
	w.answer("x", true)
	next := w.s.server
	next.Isolation, next.MaxBackends = "session", 8
	w.do(message.Reconfigure{Server: next, Transport: true})
	w.want("resources/subscribe x at 0", "answer 1: true", "updated x to 0")
	w.do(graceOver{subKey{uri: "x"}})
	w.answer("x", true)
	w.want("resources/unsubscribe x at 0")
	w.empty()
}
