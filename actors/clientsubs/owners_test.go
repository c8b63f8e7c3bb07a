package clientsubs

import (
	"fmt"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/fieldtest"
	"goblin-actor/protocol"
)

// All subscriptions of a client on the same connections share one value. An owner that differs is a value of its own.
func TestEqualOwnersAreShared(t *testing.T) {
	var owns Owners
	own := func(key, level string, can message.CapabilitySet) *message.ConnectionOwner {
		return &message.ConnectionOwner{Tenant: &message.Tenant{Key: key, Level: protocol.Level(level)}, Can: can}
	}
	first := owns.Intern("one", own("a", "", 0))
	if owns.Intern("one", own("a", "", 0)) != first {
		t.Error("equal owners are not shared")
	}
	for name, other := range map[string]*message.ConnectionOwner{"tenant": own("b", "", 0), "level": own("a", "debug", 0), "class": own("a", "", message.CanAll)} {
		owns := owns
		if owns.Intern("one", other) != other {
			t.Errorf("an owner with another %s is shared", name)
		}
	}
	if other := own("a", "", 0); owns.Intern("two", other) != other {
		t.Error("an owner at another server is shared")
	}
	for i := range 10 * maxOwners {
		owns.Intern("one", own(fmt.Sprint(i), "", 0))
	}
	if len(owns.known) > maxOwners {
		t.Errorf("%d owners are known", len(owns.known))
	}
}

// An owner that differs in any field is another value.
func TestInternComparesEveryField(t *testing.T) {
	base := message.ConnectionOwner{Can: message.CanForm, Tenant: &message.Tenant{
		Key: "session a", Who: "key:anna", Epoch: 1, Client: "a", Lane: "key:anna", Headers: map[string]string{"X-Token": "1"},
		Level: protocol.Level("info"), Isolation: "session", Forwarded: []config.ForwardHeader{{From: "X-Token", To: "X-Token"}},
	}}
	fieldtest.Noticed(t, base, nil, func(_ string, changed message.ConnectionOwner) bool {
		var owners Owners
		owners.Intern("one", &base)
		return owners.Intern("one", &changed) == &changed
	})
	again, tenant := base, *base.Tenant
	again.Tenant = &tenant
	var owners Owners
	if owners.Intern("one", &base); owners.Intern("one", &again) != &base {
		t.Error("an equal value is not shared")
	}
}
