package registry

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
)

// Who asks learns that its lists are in the catalog when every subscriber has been told, not before, and once.
func TestConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		pool := actortest.NewProbe(h.system, "pool")
		subscribers := make([]actortest.Probe, 2*slice+1)
		for i := range subscribers {
			subscribers[i] = h.subscriber(fmt.Sprint("s", i))
		}
		confirmed := func(when string, want ...uint64) {
			t.Helper()
			synctest.Wait()
			var got []uint64
			for _, c := range actortest.Of[message.ConfirmResult](pool) {
				got = append(got, c.Key)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: confirmed %v, want %v", when, got, want)
			}
		}
		ask := func(key uint64) { h.registry.Tell(message.Confirm{Who: pool.Reference, Key: key}) }
		h.rules("one", 0)
		h.rules("two", 1)
		h.tools("one", "a")
		ask(1)
		confirmed("published at once", 1)
		for _, s := range subscribers {
			h.seen(s)
		}
		h.tools("two", "b")
		ask(2)
		ask(3)
		confirmed("within the pause")
		time.Sleep(earlyLeast)
		confirmed("what has just come is seen before its end", 2, 3)
		time.Sleep(pause - earlyLeast)
		for range hurriedChanges { // neither is a newcomer then
			h.tools("two", "c")
			h.tools("two", "b")
		}
		time.Sleep(pause)
		h.tools("two", "c")
		time.Sleep(time.Second)
		for _, s := range subscribers {
			h.seen(s)
		}
		h.tools("two", "b")
		h.tools("two", "d")
		ask(4)
		confirmed("within the pause")
		time.Sleep(pause - 1)
		confirmed("a nanosecond before its end")
		time.Sleep(time.Nanosecond)
		confirmed("at its end", 4)
		for _, s := range subscribers {
			h.expect(s, "by then", "one_a two_b", "one_a two_d")
		}
		ask(5)
		confirmed("nothing is outstanding", 5)
	})
}

// What an operator has changed waits for no pause.
func TestAReloadWaitsForNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		p := h.subscriber("p")
		h.rules("one", 0)
		h.tools("one", "a")
		time.Sleep(time.Minute)
		h.seen(p)
		h.tools("one", "b")
		h.expect(p, "a change", "one_b")
		other := naming
		other.Namespace.Separator = "-"
		h.registry.Tell(message.CatalogNaming{Naming: other})
		h.expect(p, "named anew within the pause", "one-b")
		h.tools("one", "c")
		h.tools("one", "d")
		h.registry.Tell(message.CatalogNaming{Naming: other})
		h.expect(p, "what has not changed hurries nothing")
		time.Sleep(pause)
		h.expect(p, "after the pause", "one-d")
	})
}
