package clientsubs

import (
	"fmt"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// All subscriptions of a client on the same connections hold one value; one that says something else is another.
func TestOwnsAreHeldOnce(t *testing.T) {
	var owns Owners
	own := func(key, level string, can message.CapabilitySet) *message.ConnectionOwner {
		return &message.ConnectionOwner{Tenant: &message.Tenant{Key: key, Level: protocol.Level(level)}, Can: can}
	}
	first := owns.Intern("one", own("a", "", 0))
	if owns.Intern("one", own("a", "", 0)) != first {
		t.Error("the same is held twice")
	}
	for name, other := range map[string]*message.ConnectionOwner{"tenant": own("b", "", 0), "level": own("a", "debug", 0), "class": own("a", "", message.CanAll)} {
		owns := owns
		if owns.Intern("one", other) != other {
			t.Errorf("another %s is taken for the same", name)
		}
	}
	if other := own("a", "", 0); owns.Intern("two", other) != other {
		t.Error("another server is taken for the same")
	}
	for i := range 10 * maxOwners {
		owns.Intern("one", own(fmt.Sprint(i), "", 0))
	}
	if len(owns.known) > maxOwners {
		t.Errorf("%d are known", len(owns.known))
	}
}
