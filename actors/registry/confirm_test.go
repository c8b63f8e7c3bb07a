package registry

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
)

// A Confirm is answered once, after every subscriber has received the snapshot with the reported lists.
func TestConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
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
		ask := func(key uint64) { h.registry.Tell(message.Confirm{From: pool.Reference, Key: key}) }
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
		confirmed("a new server's list is published early", 2, 3)
		time.Sleep(pause - earlyLeast)
		for range hurriedChanges { // after these, the servers no longer count as new
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
		confirmed("a nanosecond before the end of the pause")
		time.Sleep(time.Nanosecond)
		confirmed("at the end of the pause", 4)
		for _, s := range subscribers {
			h.expect(s, "at the end of the pause", "one_a two_b", "one_a two_d")
		}
		ask(5)
		confirmed("nothing is outstanding", 5)
	})
}

// A naming that a reload has changed is published without waiting for the pause.
func TestReloadIsPublishedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
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
		h.expect(p, "another naming within the pause", "one-b")
		h.tools("one", "c")
		h.tools("one", "d")
		h.registry.Tell(message.CatalogNaming{Naming: other})
		h.expect(p, "an equal naming is not published early")
		time.Sleep(pause)
		h.expect(p, "after the pause", "one-d")
	})
}
