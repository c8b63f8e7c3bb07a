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

// visitor is a client's initialize.
func visitor(t *testing.T) *downstream.Exchange {
	t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp", Remote: "127.0.0.1:5"}}
	x.Frame, x.Params = actortest.Request(t, initializeFrame)
	return x
}

func key(name string, names ...string) *identity.Principal {
	return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey, Projects: names}
}

// What was found out before a principal has changed counts no more when its request has come: its body may have come slowly.
func TestARequestThatCameSlowly(t *testing.T) {
	e := admission.Entrance{Projects: map[string]bool{"alpha": true, "beta": true}, Epoch: 3,
		Newest: map[string]*identity.Principal{"key:alice": key("alice", "beta")}}
	x := visitor(t)
	x.Origin.Who = key("alice", "alpha")
	if a, refusal := e.Admit(&x.Origin, x); refusal != nil || a.View.Projects != "beta" || a.Epoch != 3 {
		t.Errorf("whose projects are others now: %+v %+v", a, refusal)
	}
	x.Origin.Who = key("bob")
	if _, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 || refusal.Fault.Name != protocol.Unauthenticated {
		t.Errorf("who is nobody any more: %+v", refusal)
	}
	successor := key("alice", "beta")
	successor.Holder = identity.Held(successor.ID, 1)
	e.Newest, _ = updatePrincipals(e.Newest, map[string]*identity.Principal{"key:alice": successor})
	x.Origin.Who = key("alice", "alpha")
	if a, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 {
		t.Errorf("whose name another key has now: %+v", a)
	}
}

// Nothing is kept of who is nobody any more, however many there were, and none of them is taken for somebody who is there: nor who comes late with
// what was found out before, nor what holds something of theirs.
func TestNothingIsKeptOfWhoHasGone(t *testing.T) {
	e := admission.Entrance{Projects: map[string]bool{}, Newest: map[string]*identity.Principal{"key:alice": key("alice")}}
	made := func(n uint64) *identity.Principal {
		who := key("ci")
		who.Holder = identity.Held(who.ID, n)
		return who
	}
	for n := range uint64(1000) {
		var gone map[string]bool
		before := e.Newest
		e.Newest, gone = updatePrincipals(before, map[string]*identity.Principal{"key:ci": made(n), fmt.Sprint("key:", n): key(fmt.Sprint(n))})
		e.Newest, _ = updatePrincipals(e.Newest, map[string]*identity.Principal{fmt.Sprint("key:", n): nil, "key:unknown": nil})
		if len(e.Newest) != 2 || e.Newest["key:alice"] != before["key:alice"] || n > 0 && (len(gone) != 1 || !gone[made(n-1).Holder]) {
			t.Fatalf("after %d keys: %v, gone %v", n, e.Newest, gone)
		}
	}
	e.Epoch = 5
	for _, late := range []*identity.Principal{made(998), made(3), key("3"), key("ci")} {
		x := visitor(t)
		x.Origin.Who = late
		if a, refusal := e.Admit(&x.Origin, x); refusal == nil || refusal.Status != 401 {
			t.Errorf("late: %+v", a)
		}
		changes := message.Principals{Newest: e.Newest, Epoch: e.Epoch}
		if name := message.PrincipalOf(late); !changes.Revoked(name, 4) || changes.Revoked(name, 5) || changes.Revoked("", 4) || changes.Revoked(made(999).Holder, 4) {
			t.Errorf("%s: what is held for it goes if it is from before, and only that", name)
		}
	}
}

// Who is revoked between the door and the gateway's actor gets no session, and who has lost a project none in it.
func TestWhatWasAdmittedBeforeTheChange(t *testing.T) {
	changes := message.Principals{Epoch: 5, Newest: map[string]*identity.Principal{"key:alice": key("alice", "beta")}}
	for _, test := range []struct {
		name     string
		admitted message.Admitted
		fault    protocol.FaultName
		projects string
	}{
		{"revoked", message.Admitted{Who: key("bob"), Epoch: 4}, protocol.Unauthenticated, ""},
		{"revoked, and made anew since", message.Admitted{Who: key("bob"), Epoch: 5}, "", ""},
		{"with other projects", message.Admitted{Who: key("alice", "alpha"), Epoch: 4}, "", "beta"},
		{"of a project that is lost", message.Admitted{Who: key("alice", "alpha"), Epoch: 4, View: message.Narrowed(inAlpha, key("alice", "alpha"))}, protocol.UnknownProject, ""},
		{"of whom nothing was said: nobody comes who is not known", message.Admitted{Who: key("carol"), Epoch: 4}, protocol.Unauthenticated, ""},
		{"of nobody in particular", message.Admitted{Epoch: 4}, "", ""},
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
	s.registry = children(t, 1)[0]
	s.setPrincipals(changes, nil)
	for _, e := range s.open(requestSession(message.OpenSession{Exchange: visitor(t), Admitted: message.Admitted{Who: key("bob"), Epoch: 4}}), nil) {
		if _, starts := e.Act.(startSession); starts {
			t.Error("a session was opened for who is nobody any more")
		}
	}
}

// A session or a desk that is told nothing of changes before it began is told when it has.
func TestAChangeWhileASessionBegins(t *testing.T) {
	child := children(t, 1)[0]
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

// toldOf keeps the changes of principals in the order in which it is told of them.
type toldOf struct{ epochs chan uint64 }

func (o toldOf) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if m, is := msg.(message.Principals); is {
		o.epochs <- m.Epoch
	}
	return out
}

func (toldOf) Act(kernel.Self, any) {}

// Changes that come from several goroutines at once, of keys and of the configuration, are told in the order in which they count: the last one
// that is told holds all of them.
func TestChangesAreToldInOrder(t *testing.T) {
	const goroutines, each = 4, 50
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	epochs := make(chan uint64, goroutines*each)
	g := &Gateway{self: kernel.Spawn(system, kernel.SpawnOptions{Name: "gateway"}, func(kernel.Self) kernel.Logic { return toldOf{epochs} })}
	g.entrance.Store(&admission.Entrance{})
	changed := map[string]*identity.Principal{} // so many that goroutines meet
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
		next := <-epochs // one that waits is replaced by a newer one
		if next <= last {
			t.Fatalf("change %d is told after %d", next, last)
		}
		last = next
	}
}
