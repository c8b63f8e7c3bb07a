package actors

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

var inAlpha = catalog.Key{Project: "alpha"}

// initializeExchange returns an exchange with an initialize request.
func initializeExchange(t *testing.T) *downstream.Exchange {
	t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:5"}}
	x.Frame, x.Params = actortest.Request(t, initializeFrame)
	return x
}

// keyPrincipal returns the principal of a key that is limited to these projects, or not limited if none is given.
func keyPrincipal(name string, names ...string) *identity.Principal {
	return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey, Projects: names}
}

// A request whose body arrives slowly is admitted with the principal's current rights, not with those at its start.
func TestSlowRequestUsesCurrentPrincipal(t *testing.T) {
	e := admission.Entrance{Projects: map[string]bool{"alpha": true, "beta": true}, Epoch: 3,
		Newest: map[string]*identity.Principal{"key:alice": keyPrincipal("alice", "beta")}}
	x := initializeExchange(t)
	x.Origin.Principal = keyPrincipal("alice", "alpha")
	if a, refusal := e.Admit(&x.Origin, x); refusal != nil || a.View.Projects != "beta" || a.Epoch != 3 {
		t.Errorf("a principal with changed projects: %+v %+v", a, refusal)
	}
	x.Origin.Principal = keyPrincipal("bob")
	if _, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 || refusal.Fault.Name != protocol.Unauthenticated {
		t.Errorf("a removed principal: %+v", refusal)
	}
	successor := keyPrincipal("alice", "beta")
	successor.Holder = identity.Held(successor.ID, 1)
	e.Newest, _ = updatePrincipals(e.Newest, map[string]*identity.Principal{"key:alice": successor})
	x.Origin.Principal = keyPrincipal("alice", "alpha")
	if a, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 {
		t.Errorf("a principal whose name belongs to another key now: %+v", a)
	}
}

// Removed principals leave no state behind, however many there were. Late requests and held state of removed principals are not
// confused with those of existing ones.
func TestRemovedPrincipalsLeaveNoState(t *testing.T) {
	e := admission.Entrance{Projects: map[string]bool{}, Newest: map[string]*identity.Principal{"key:alice": keyPrincipal("alice")}}
	holder := func(n uint64) *identity.Principal {
		who := keyPrincipal("ci")
		who.Holder = identity.Held(who.ID, n)
		return who
	}
	for n := range uint64(1000) {
		var gone map[string]bool
		before := e.Newest
		e.Newest, gone = updatePrincipals(before, map[string]*identity.Principal{"key:ci": holder(n), fmt.Sprint("key:", n): keyPrincipal(fmt.Sprint(n))})
		e.Newest, _ = updatePrincipals(e.Newest, map[string]*identity.Principal{fmt.Sprint("key:", n): nil, "key:unknown": nil})
		if len(e.Newest) != 2 || e.Newest["key:alice"] != before["key:alice"] || n > 0 && (len(gone) != 1 || !gone[holder(n-1).Holder]) {
			t.Fatalf("after %d keys: %v, gone %v", n, e.Newest, gone)
		}
	}
	e.Epoch = 5
	for _, late := range []*identity.Principal{holder(998), holder(3), keyPrincipal("3"), keyPrincipal("ci")} {
		x := initializeExchange(t)
		x.Origin.Principal = late
		if a, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 {
			t.Errorf("a late request was admitted: %+v", a)
		}
		changes := message.Principals{Newest: e.Newest, Epoch: e.Epoch}
		if name := message.PrincipalOf(late); !changes.Revoked(name, 4) || changes.Revoked(name, 5) || changes.Revoked("", 4) || changes.Revoked(holder(999).Holder, 4) {
			t.Errorf("%s: Revoked must report true for state from earlier epochs only", name)
		}
	}
}

// A request that was admitted before its principal changed is checked again by the gateway actor. A revoked principal gets no
// session, and neither does one that has lost the project.
func TestReadmitAfterChange(t *testing.T) {
	changes := message.Principals{Epoch: 5, Newest: map[string]*identity.Principal{"key:alice": keyPrincipal("alice", "beta")}}
	for _, test := range []struct {
		name     string
		admitted message.Admitted
		fault    protocol.FaultName
		projects string
	}{
		{"revoked", message.Admitted{Who: keyPrincipal("bob"), Epoch: 4}, protocol.Unauthenticated, ""},
		{"revoked, admitted after its replacement", message.Admitted{Who: keyPrincipal("bob"), Epoch: 5}, "", ""},
		{"other projects", message.Admitted{Who: keyPrincipal("alice", "alpha"), Epoch: 4}, "", "beta"},
		{"lost project", message.Admitted{Who: keyPrincipal("alice", "alpha"), Epoch: 4, View: message.Narrowed(inAlpha, keyPrincipal("alice", "alpha"))}, protocol.UnknownProject, ""},
		{"unknown principal", message.Admitted{Who: keyPrincipal("carol"), Epoch: 4}, protocol.Unauthenticated, ""},
		{"no principal", message.Admitted{Epoch: 4}, "", ""},
	} {
		name := protocol.FaultName("")
		if fault := changes.Readmit(&test.admitted); fault != nil {
			name = fault.Name
		}
		if name != test.fault || test.fault == "" && test.admitted.View.Projects != test.projects {
			t.Errorf("%s: %q, %+v", test.name, name, test.admitted)
		}
	}
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
	s.registry = childReferences(t, 1)[0]
	s.setPrincipals(changes, nil)
	for _, e := range s.open(requestSession(message.OpenSession{Exchange: initializeExchange(t), Admitted: message.Admitted{Who: keyPrincipal("bob"), Epoch: 4}}), nil) {
		if _, starts := e.Act.(startSession); starts {
			t.Error("a session was opened for a removed principal")
		}
	}
}

// A session or stateless session that is spawned while principals change gets the change once it has started.
func TestChangeWhileSessionStarts(t *testing.T) {
	child := childReferences(t, 1)[0]
	for _, started := range []any{sessionStarted{ref: child}, statelessStarted{child}} {
		s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10}}, kernel.Reference{})
		s.setPrincipals(message.Principals{Epoch: 1, Newest: map[string]*identity.Principal{}}, nil)
		out := step(s, time.Time{}, started, nil)
		if len(out) != 1 || out[0].To != child {
			t.Fatalf("%T: %+v", started, out)
		}
		if m, ok := out[0].Msg.(message.Principals); !ok || !m.Revoked("key:bob", 0) {
			t.Errorf("%T: %+v", started, out[0].Msg)
		}
	}
}

// epochRecorder records the epochs of the principals it receives, in order.
type epochRecorder struct{ epochs chan uint64 }

func (o epochRecorder) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if m, is := msg.(message.Principals); is {
		o.epochs <- m.Epoch
	}
	return out
}

func (epochRecorder) Act(kernel.Self, any) {}

// Concurrent changes by several goroutines are sent in the order of their epochs, so that the last message holds all of
// them.
func TestChangesAreSentInOrder(t *testing.T) {
	const goroutines, each = 4, 50
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	epochs := make(chan uint64, goroutines*each)
	g := &Gateway{self: kernel.Spawn(system, kernel.SpawnOptions{Name: "gateway"}, func(kernel.Self) kernel.Logic { return epochRecorder{epochs} })}
	g.entrance.Store(&admission.Entrance{})
	changed := map[string]*identity.Principal{} // so many that goroutines overlap
	for n := range 2000 {
		changed[fmt.Sprintf("key:%d", n)] = nil
	}
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for range each {
				g.UpdatePrincipals(changed)
			}
		})
	}
	all.Wait()
	for last := uint64(0); last < goroutines*each; {
		next := <-epochs // a waiting message is replaced by a newer one
		if next <= last {
			t.Fatalf("epoch %d was sent after %d", next, last)
		}
		last = next
	}
}
