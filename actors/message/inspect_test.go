package message

import (
	"testing"

	"goblin-actor/actors/kernel"
)

// Status queries must not change what they observe: the kernel does not count them as handled messages.
func TestQueriesAreObservations(t *testing.T) {
	for _, m := range []any{Inspect{}, GetCatalog{}, GetStatus{}, GetSeries{}} {
		if _, ok := m.(kernel.Observation); !ok {
			t.Errorf("%T is not a kernel.Observation", m)
		}
	}
}
