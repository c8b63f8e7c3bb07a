package backend

import (
	"fmt"
	"testing"

	"goblin-actor/actors/message"
)

// A call to a server of another node says whose it is. A connection of one principal need not.
func TestHopHeaders(t *testing.T) {
	for _, c := range []struct{ principal, isolation, want string }{
		{"key:ann@1", "shared", "[{Goblin-Node-Holder key:ann@1} {Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"", "shared", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"key:ann@1", "principal", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"key:ann@1", "session", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
	} {
		caller := &message.Caller{Principal: c.principal, ClientKey: "client"}
		if got := fmt.Sprint(appendBehalf(nil, caller, c.isolation)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
