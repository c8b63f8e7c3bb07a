package session

import (
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

func key(name string, change func(*identity.Principal)) *identity.Principal {
	p := &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
	if change != nil {
		change(p)
	}
	return p
}

// ofAlice returns an initialized session of the principal who, with a catalog of two projects.
func ofAlice(t *testing.T, who *identity.Principal) *state {
	t.Helper()
	s := newState(Options{ID: "x", Transport: "http", Opened: message.Admitted{Who: who, Epoch: 7, View: message.Narrowed(catalog.Key{}, who)}}, kernel.Reference{})
	var sources []catalog.Source
	for i, name := range []string{"one", "two"} {
		source := catalog.Source{Server: &catalog.Server{Name: name, Order: i}}
		source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"t","inputSchema":{"type":"object"}}`)}
		sources = append(sources, source)
	}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10}
	snapshot := catalog.Build(nil, sources, naming, config.Project{Name: "alpha", Servers: []string{"one"}}, config.Project{Name: "beta", Servers: []string{"two"}})
	step(s, time.Now(), message.Published{Snapshot: snapshot}, nil)
	s.client.initialized, s.client.ready, s.client.path, s.client.version, s.catalog.announced = true, true, "/mcp", protocol.Version20251125, s.catalog.view.Generation
	return s
}

func tools(s *state) int { return len(s.catalog.view.Entries(protocol.Tools)) }

// sends passes a ping from the principal who, admitted at the given epoch, to the session s. It returns whether the session
// accepts the principal, and the effects.
func sends(t *testing.T, s *state, who *identity.Principal, epoch uint64) (found bool, out []kernel.Effect) {
	t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	out = step(s, time.Unix(5000, 0), message.Inbound{Exchange: x, Admitted: message.Admitted{Who: who, Epoch: epoch}}, nil)
	for _, e := range out {
		if _, ok := e.Act.(notFound); ok {
			return false, out
		}
	}
	return true, out
}

// A message from another principal does not keep the session alive.
func TestOtherPrincipalDoesNotKeepSessionAlive(t *testing.T) {
	s := ofAlice(t, key("alice", nil))
	s.life.lastSeen = time.Unix(1, 0)
	for _, who := range []*identity.Principal{key("mallory", nil), nil, identity.Local} {
		if found, out := sends(t, s, who, 7); found || len(out) != 1 || s.life.lastSeen != time.Unix(1, 0) {
			t.Errorf("%+v: found %v, %d effects, last seen %v", who, found, len(out), s.life.lastSeen)
		}
	}
	if found, _ := sends(t, s, key("alice", nil), 7); !found || s.life.lastSeen == time.Unix(1, 0) {
		t.Error("alice does not find her session")
	}
	anonymous := ofAlice(t, nil)
	if found, _ := sends(t, anonymous, identity.Local, 0); !found {
		t.Error("a client without authentication does not find the session")
	}
	if found, _ := sends(t, anonymous, key("mallory", nil), 0); found {
		t.Error("an unauthenticated client's session is found by mallory")
	}
}

// A request that was admitted before a change of rights does not restore the rights that the change removed.
func TestEarlierRequestRestoresNoRights(t *testing.T) {
	both := key("alice", func(p *identity.Principal) { p.Projects = []string{"alpha", "beta"} })
	one := key("alice", func(p *identity.Principal) { p.Projects = []string{"alpha"} })
	s := ofAlice(t, both)
	if tools(s) != 2 {
		t.Fatalf("%d tools", tools(s))
	}
	step(s, time.Now(), message.Principals{Newest: map[string]*identity.Principal{one.ID: one}, Epoch: 9}, nil)
	if tools(s) != 1 {
		t.Errorf("%d tools after the change", tools(s))
	}
	if found, _ := sends(t, s, both, 8); !found || tools(s) != 1 {
		t.Errorf("an older request: found %v, %d tools", found, tools(s))
	}
	if found, _ := sends(t, s, both, 9); !found || tools(s) != 2 {
		t.Errorf("a newer one: found %v, %d tools", found, tools(s))
	}
}

// When its principal changes, the client is notified only of lists that differ.
func TestPrincipalChangeNotifications(t *testing.T) {
	in := func(names ...string) *identity.Principal {
		return key("alice", func(p *identity.Principal) { p.Projects = names })
	}
	for _, test := range []struct {
		name string
		next *identity.Principal
		told int
	}{
		{"the same project", in("alpha"), 0},
		{"also a project that does not exist", in("alpha", "omega"), 0},
		{"another project", in("beta"), 1},
		{"both projects", in("alpha", "beta"), 1},
		{"only a project that does not exist", in("omega"), 1},
	} {
		s := ofAlice(t, in("alpha"))
		s.streams = []*downstream.EventStream{{}}
		told := 0
		for _, e := range step(s, time.Now(), message.Principals{Newest: map[string]*identity.Principal{test.next.ID: test.next}, Epoch: 9}, nil) {
			if p, ok := e.Act.(push); ok && p.method == protocol.Tools.ChangedMethod() {
				told++
			}
		}
		if told != test.told {
			t.Errorf("%s: %d notifications, want %d", test.name, told, test.told)
		}
	}
}

// Streams end exactly at the newest known expiry. A client cannot cause an unlimited number of timers.
func TestStreamsEndAtExpiry(t *testing.T) {
	until := func(seconds int64) *identity.Principal {
		return key("alice", func(p *identity.Principal) { p.Expires = time.Unix(seconds, 0) })
	}
	s := ofAlice(t, until(100))
	timers := map[time.Time]int{}
	now := time.Unix(10, 0)
	do := func(msg any) (closed int) {
		for _, e := range step(s, now, msg, nil) {
			switch a := e.Act.(type) {
			case kernel.Wake:
				if m, ok := a.Msg.(streamsExpired); ok {
					timers[m.at]++
					if got := now.Add(a.After); got != m.at {
						t.Errorf("a timer for %v fires at %v", m.at, got)
					}
				}
			case closeStream:
				closed++
			}
		}
		return closed
	}
	do(streamReady{&downstream.EventStream{}})
	do(streamReady{&downstream.EventStream{}})
	for range 50 { // two tokens, alternating
		do(message.Principals{Newest: map[string]*identity.Principal{"key:alice": until(200)}, Epoch: s.principal.epoch + 1})
		do(message.Principals{Newest: map[string]*identity.Principal{"key:alice": until(100)}, Epoch: s.principal.epoch + 1})
	}
	do(message.Principals{Newest: map[string]*identity.Principal{"key:alice": until(200)}, Epoch: s.principal.epoch + 1})
	if len(timers) != 1 || timers[time.Unix(100, 0)] != 1 {
		t.Errorf("timers: %v", timers)
	}
	now = time.Unix(100, 0)
	if closed := do(streamsExpired{now}); closed != 0 || timers[time.Unix(200, 0)] != 1 {
		t.Errorf("at the old expiry %d streams end; timers %v", closed, timers)
	}
	now = time.Unix(200, 0)
	if closed := do(streamsExpired{time.Unix(100, 0)}); closed != 0 {
		t.Error("an earlier timer ends streams")
	}
	if closed := do(streamsExpired{now}); closed != 2 || len(s.streams) != 0 {
		t.Errorf("at the newest %d streams end, %d are left", closed, len(s.streams))
	}
}

// When its principal is revoked, the session ends. Sessions of other principals, and sessions opened after the
// revocation, continue.
func TestRevokedSessionEnds(t *testing.T) {
	s := ofAlice(t, key("alice", nil))
	leaves := false
	for _, e := range step(s, time.Now(), message.Principals{Newest: map[string]*identity.Principal{}, Epoch: 9}, nil) {
		_, left := e.Act.(kernel.SelfStop)
		leaves = leaves || left
	}
	if !leaves || !s.principal.revoked {
		t.Error("the session of the revoked principal does not end")
	}
	for _, e := range step(ofAlice(t, key("bob", nil)), time.Now(), message.Principals{Newest: map[string]*identity.Principal{"key:bob": key("bob", nil)}, Epoch: 9}, nil) {
		if _, left := e.Act.(kernel.SelfStop); left {
			t.Error("the session of another principal ends too")
		}
	}
	since := ofAlice(t, key("alice", nil)) // opened with a new key, after the old one was revoked but before every session was told
	if out := step(since, time.Now(), message.Principals{Newest: map[string]*identity.Principal{}, Epoch: since.principal.epoch - 1}, nil); len(out) != 0 {
		t.Errorf("the session of a newer key: %v", out)
	}
}
