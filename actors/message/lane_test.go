package message

import (
	"fmt"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// Client keys that differ only in a number get different lanes. Otherwise these clients would wait for each other.
func TestSimilarKeysHaveDifferentLanes(t *testing.T) {
	lanes := map[uint32]string{}
	for i := range 100 {
		for _, key := range []string{fmt.Sprintf("key:p%d", i), fmt.Sprintf("key:%d-ci", i)} {
			lane := LaneOf(key)
			if other, taken := lanes[lane]; taken {
				t.Errorf("%s and %s share lane %d", key, other, lane)
			}
			lanes[lane] = key
		}
	}
}

// In a stateless session, a principal has one lane whatever its address. Other principals at the same address have
// other lanes.
func TestPrincipalHasOneLane(t *testing.T) {
	visit := func(id, remote string) StatelessRequest {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: remote}}
		return StatelessRequest{Exchange: x, Admitted: Admitted{Who: &identity.Principal{ID: id}}}
	}
	a := visit("key:a", "192.0.2.1:1").Lane()
	if other := visit("key:a", "192.0.2.2:2").Lane(); other != a {
		t.Errorf("one principal at two addresses: lanes %d and %d", a, other)
	}
	if other := visit("key:b", "192.0.2.1:1").Lane(); other == a {
		t.Errorf("two principals at one address share lane %d", a)
	}
	if w := (CancelStateless{Principal: "key:a", Remote: "192.0.2.3:3"}); w.Lane() != a {
		t.Errorf("CancelStateless has lane %d, its request %d", w.Lane(), a)
	}
}
