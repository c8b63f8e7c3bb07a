package pool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	principals "goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// own dispatches a call of a client that has its own connections.
func (w *world) own(client string, seq uint64, change ...func(*message.Request)) {
	r := &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: client}, Tenant: &message.Tenant{Key: "session " + client, Client: client}}
	for _, c := range change {
		c(r)
	}
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
}

// isolated returns a server with a ready main connection and at most n connections of clients.
func isolated(t *testing.T, n int) *world {
	w := newWorld(t, config.Server{Isolation: "session", MaxBackends: n, Queue: wide}, 1)
	w.s.limits.SessionIdle = time.Hour
	w.phase(0, message.Ready)
	return w
}

// allReady makes every started connection ready.
func (w *world) allReady() {
	w.spawned()
	for i, ref := range w.backends {
		if conn := w.s.replicas.byBackend(ref); conn != nil && conn.phase != message.Ready {
			w.phase(i, message.Ready)
		}
	}
}

// connectionsOf returns the connections of a client that take calls.
func (w *world) connectionsOf(client string) (list []*connection) {
	for _, conn := range w.s.replicas.connections {
		if conn.tenant != nil && conn.tenant.Client == client && !conn.leaving {
			list = append(list, conn)
		}
	}
	return list
}

// A client's calls are sent on its own connection, never on another client's or on the main connection.
func TestEachClientHasItsOwnConnection(t *testing.T) {
	w := isolated(t, 8)
	w.own("a", 1)
	w.own("b", 2)
	w.own("a", 3)
	w.allReady()
	w.own("b", 4)
	if len(w.s.replicas.connections) != 3 || w.at(1) < 1 || w.at(1) != w.at(3) || w.at(2) < 1 || w.at(2) != w.at(4) || w.at(1) == w.at(2) {
		t.Errorf("%d connections, calls at replicas %d %d %d %d", len(w.s.replicas.connections), w.at(1), w.at(2), w.at(3), w.at(4))
	}
	w.phase(w.at(1), message.Waiting)
	w.own("a", 5)
	w.fault(5, protocol.ServerUnavailable)
}

// At maxBackends, an idle connection of another client is closed to make room. If all have calls, the new client is refused.
func TestMaxBackends(t *testing.T) {
	w := isolated(t, 2)
	w.own("a", 1)
	w.own("b", 2)
	w.allReady()
	w.own("c", 3)
	if f := w.fault(3, protocol.ServerUnavailable); !strings.Contains(f.Message, "maxBackends: 2") || !f.Retryable || f.RetryAfter == 0 {
		t.Errorf("fault %v, want maxBackends and a time to retry", f)
	}
	w.now = w.now.Add(time.Second)
	w.end(2)
	w.end(1)
	w.own("b", 4)
	w.own("c", 5)
	w.allReady()
	if len(w.connectionsOf("a")) != 0 || len(w.connectionsOf("b")) != 1 || w.at(5) < 0 || w.at(5) == w.at(4) {
		t.Errorf("client a has %d connections, b %d; the new client's call is at %d", len(w.connectionsOf("a")), len(w.connectionsOf("b")), w.at(5))
	}
	if len(w.s.tenants.byKey) != 2 {
		t.Errorf("%d tenants are left", len(w.s.tenants.byKey))
	}
}

// A user's clients with different capabilities have separate connections. If there is no room for one, the error says so.
func TestMaxBackendsWithinOneTenant(t *testing.T) {
	w := isolated(t, 2)
	w.own("a", 1)
	w.own("b", 2)
	w.allReady()
	w.own("a", 3, func(r *message.Request) { r.Caller.Can = message.CanAll })
	if f := w.fault(3, protocol.ServerUnavailable); !strings.Contains(f.Message, "maxBackends: 2") || f.RetryAfter == 0 {
		t.Errorf("fault %v, want maxBackends and a time to retry", f)
	}
	w.own("a", 4)
	if w.at(4) < 1 || w.at(4) != w.at(1) {
		t.Errorf("the other client's call is at %d, want %d", w.at(4), w.at(1))
	}
}

// A new client's call waits while maxConcurrent calls run, and gets a connection when it is its turn.
func TestFirstCallOfAClientWaitsForItsTurn(t *testing.T) {
	for _, isolation := range []string{"session", "class"} {
		w := newWorld(t, config.Server{Isolation: isolation, MaxBackends: 8, MaxConcurrent: 1, Queue: wide}, 1)
		w.s.limits.SessionIdle = time.Hour
		w.phase(0, message.Ready)
		call := func(client string, seq uint64) {
			w.own(client, seq, func(r *message.Request) {
				if isolation == "class" { // each has capabilities of its own
					r.Tenant, r.Caller.Can = nil, map[string]message.CapabilitySet{"a": message.CanAll, "b": 0}[client]
				}
			})
		}
		call("a", 1)
		w.allReady()
		call("b", 2)
		if w.s.calls.queue.len() != 1 {
			t.Fatalf("%s: %d calls queued, want 1", isolation, w.s.calls.queue.len())
		}
		w.end(1)
		w.allReady()
		if w.at(2) < 0 || w.at(2) == w.at(1) {
			t.Errorf("%s: the call is at %d, the other one was at %d", isolation, w.at(2), w.at(1))
		}
	}
}

// A call that waited for the server's start fails if its client gets no connection then.
func TestMoreClientsThanConnectionsAtTheStart(t *testing.T) {
	w := newWorld(t, config.Server{Isolation: "session", MaxBackends: 1, Queue: wide}, 1)
	w.phase(0, message.Handshaking)
	w.own("a", 1)
	w.own("a", 2)
	w.own("b", 3)
	w.phase(0, message.Ready)
	w.allReady()
	if w.at(1) < 0 || w.at(2) < 0 || w.s.calls.queue.len() != 0 {
		t.Fatalf("calls at replicas %d and %d, %d queued", w.at(1), w.at(2), w.s.calls.queue.len())
	}
	w.fault(3, protocol.ServerUnavailable)
}

// A client's connections are closed when it leaves or has not used them for sessionIdle, and its tenant is forgotten.
func TestConnectionsEndWithTheirClient(t *testing.T) {
	w := isolated(t, 8)
	w.own("a", 1)
	w.own("b", 2)
	w.allReady()
	w.end(1)
	w.end(2)
	drained, _ := told[message.Drain, spawn](w, message.ClientGone{Client: "a"})
	if len(drained) != 1 || len(w.connectionsOf("a")) != 0 || len(w.connectionsOf("b")) != 1 {
		t.Fatalf("%d connections drained; a has %d, b %d", len(drained), len(w.connectionsOf("a")), len(w.connectionsOf("b")))
	}
	w.own("b", 3)
	w.now = w.now.Add(time.Hour)
	w.step(tenantsDue{})
	if len(w.connectionsOf("b")) != 1 {
		t.Fatal("a connection with a call was closed")
	}
	w.end(3)
	w.now = w.now.Add(time.Hour)
	w.step(tenantsDue{})
	if len(w.connectionsOf("b")) != 0 || len(w.s.tenants.byKey) != 0 || w.s.tenants.sweepArmed {
		t.Errorf("b has %d connections, %d tenants are left", len(w.connectionsOf("b")), len(w.s.tenants.byKey))
	}
	again, _ := told[message.Drain, spawn](w, message.ClientGone{Client: "a"})
	if len(again) != 0 {
		t.Error("the connection was drained twice")
	}
}

// Mentions, log messages and log levels of one client do not affect other clients.
func TestTenantsAreIsolated(t *testing.T) {
	w := isolated(t, 8)
	holder := w.backends[0] // any reference
	r := func(client string) *message.Request {
		return &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: client}, Tenant: &message.Tenant{Key: "session " + client, Client: client, Level: "debug"}}
	}
	w.step(message.Dispatch{Call: message.CallRef{Seq: 1, Holder: holder}, Request: r("a")})
	w.spawned()
	levels, _ := told[message.SetLevel, spawn](w, spawned{2, w.backends[1]})
	if len(levels) != 1 || levels[0].Level != "debug" {
		t.Errorf("levels %v sent to the tenant's connection", levels)
	}
	w.own("b", 2)
	w.allReady()
	for _, at := range []int{w.at(1), w.at(2)} {
		w.step(message.ResourcesMentioned{Backend: w.backends[at], URIs: []string{"x:of-" + []string{"", "a", "b"}[at]}})
	}
	w.step(message.ResourceChanged{Backend: w.backends[w.at(1)], URI: "x:updated"})
	read := func(client, uri string) bool {
		q := r(client)
		q.Unlisted, q.Item, q.Frame.Method = true, uri, protocol.MethodResourcesRead
		refused, _ := told[message.Failed, spawn](w, message.Dispatch{Call: message.CallRef{Seq: 99}, Request: q})
		delete(w.s.calls.running, message.CallRef{Seq: 99})
		return len(refused) == 0
	}
	if !read("a", "x:of-a") || !read("b", "x:of-b") || !read("a", "x:updated") || read("a", "x:of-b") || read("b", "x:of-a") || read("b", "x:updated") || read("c", "x:of-a") {
		t.Error("a mention is visible to another tenant, or not to its own")
	}
	toWhom := func(backend kernel.Reference) (list []kernel.Reference) {
		for _, e := range step(w.s, w.now, message.ServerLog{Backend: backend, Server: "fake"}, nil) {
			list = append(list, e.To)
		}
		return list
	}
	if got := toWhom(w.backends[w.at(1)]); !slices.Equal(got, []kernel.Reference{holder}) {
		t.Errorf("log message of a tenant's connection sent to %v", got)
	}
	if got := toWhom(w.backends[0]); !slices.Equal(got, []kernel.Reference{w.s.gateway}) {
		t.Errorf("log message of the main connection sent to %v", got)
	}
	levels, _ = told[message.SetLevel, spawn](w, message.SetLevel{Level: "error"})
	if len(levels) != 1 {
		t.Errorf("shared log level sent to %d connections, want the main one", len(levels))
	}
	roots, _ := told[message.RootsChanged, spawn](w, message.RootsChanged{Client: "b"})
	if len(roots) != 2 {
		t.Errorf("roots sent to %d connections, want the main one and the tenant's", len(roots))
	}
}

// The log message of a connection that is gone is dropped, since it may have belonged to one client.
func TestLogMessageOfAClosedConnection(t *testing.T) {
	w := isolated(t, 8)
	w.own("a", 1)
	w.allReady()
	its := w.backends[w.at(1)]
	w.end(1)
	w.step(message.ClientGone{Client: "a"})
	w.step(kernel.ChildStopped{Child: its})
	if out := step(w.s, w.now, message.ServerLog{Backend: its, Server: "fake"}, nil); len(out) > 0 {
		t.Errorf("log message sent to %v", out[0].To)
	}
}

// Clients with different forwarded headers have different connections. Forwarded headers replace configured ones.
func TestForwardedHeadersOfAConnection(t *testing.T) {
	server := config.Server{URLs: []string{"http://127.0.0.1:1/mcp"}, Isolation: isolationClass, MaxBackends: 8, Queue: wide,
		Headers: map[string]string{"authorization": "ours", "X-Ours": "1"}, ForwardHeaders: []config.ForwardHeader{{From: "X-User", To: "Authorization"}}}
	w := newWorld(t, server, 1)
	w.phase(0, message.Ready)
	spawnsOf := func(seq uint64, key, value string) []spawn {
		r := &message.Request{Caller: &message.Caller{}, Server: "fake", Tenant: &message.Tenant{Key: key, Headers: map[string]string{"Authorization": value}}}
		_, spawns := told[message.Failed, spawn](w, message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
		return spawns
	}
	first, again, other := spawnsOf(1, "1", "alice"), spawnsOf(2, "1", "alice"), spawnsOf(3, "2", "bob")
	if len(first) != 1 || len(again) != 0 || len(other) != 1 {
		t.Fatalf("connections opened: %d, %d, %d", len(first), len(again), len(other))
	}
	if h := first[0].entry.Headers; len(h) != 2 || h["Authorization"] != "alice" || h["X-Ours"] != "1" {
		t.Errorf("the first connection sends %d headers", len(h))
	}
	if other[0].entry.Headers["Authorization"] != "bob" || w.s.server.Headers["authorization"] != "ours" {
		t.Error("the second connection does not send its client's header")
	}
}

// Only the connections of a revoked principal are closed, not those of other principals or the shared ones.
func TestConnectionsOfRevokedPrincipalsEnd(t *testing.T) {
	w := isolated(t, 8)
	for seq, who := range []string{"key:a", "key:b", ""} {
		w.own("client of "+who, uint64(seq+1), func(r *message.Request) { r.Tenant.Who = who })
	}
	w.allReady()
	w.step(message.Principals{Newest: map[string]*principals.Principal{"key:b": {ID: "key:b"}}, Epoch: 1})
	for who, want := range map[string]int{"key:a": 0, "key:b": 1, "": 1} {
		if n := len(w.connectionsOf("client of " + who)); n != want {
			t.Errorf("%q has %d connections, want %d", who, n, want)
		}
	}
	if w.s.replicas.leader() == nil {
		t.Error("the main connection was closed")
	}
}
