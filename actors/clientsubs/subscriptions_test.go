package clientsubs

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol/downstream"
)

// A session's subscription counts as one, or more if its URI is long. A stream counts as the items in its filter, or by the size of
// its request.
func TestSubscriptionCost(t *testing.T) {
	for length, want := range map[int]int{0: 1, 1: 1, 512: 1, 513: 2, 5000: 10} {
		if got := Cost(strings.Repeat("x", length)); got != want {
			t.Errorf("a URI of %d bytes counts as %d, want %d", length, got, want)
		}
	}
	for notifications, want := range map[string]int{
		`{}`: 0, `{"toolsListChanged":true}`: 0, `{"resourceSubscriptions":["a","a"],"taskIds":["b"]}`: 3,
		`{"resourceSubscriptions":["` + strings.Repeat("x", 2000) + `"]}`: 4, `{"else":"` + strings.Repeat("x", 5200) + `"}`: 10, `{"taskIds":7}`: 0,
	} {
		x := &downstream.Exchange{}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":`+notifications+`}}`)
		if got := StreamCost(x); got != want {
			t.Errorf("%.60s counts as %d, want %d", notifications, got, want)
		}
	}
}
