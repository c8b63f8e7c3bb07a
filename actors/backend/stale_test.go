package backend

import (
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// A list is looked at again for who was given it when it is stale, and for who waits in any case; never while its server tells
// of changes, and no faster than it may be. Who waits is always answered.
func TestListsAreLookedAtAgain(t *testing.T) {
	for _, tt := range []struct {
		name             string
		ttl              int
		tells            bool
		glanced, awaited int // fetches, in a second
	}{
		{"stale at once", 0, false, 1, 2}, {"fresh", 3_600_000, false, 0, 1}, {"told of", 0, true, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{Tools: []string{"a"}, TTL: tt.ttl, ListChanged: tt.tells}
			b := modern(t, server)
			defer b.stop()
			time.Sleep(time.Minute)
			synctest.Wait()
			b.pool.Got()
			before := len(server.Received("tools/list"))
			look := func(wanted bool) (fetched, answered int) {
				for range 10 {
					b.backend.Tell(message.Fetch{Kind: protocol.Tools, Wanted: wanted})
					synctest.Wait()
				}
				time.Sleep(stalePause + time.Second)
				synctest.Wait()
				return len(server.Received("tools/list")) - before, len(actortest.Of[message.FetchResult](b.pool))
			}
			if fetched, answered := look(false); fetched < tt.glanced || fetched > tt.glanced+1 || answered != 0 {
				t.Errorf("%s: for a client that was given it the list was fetched %d times, and %d answers came", tt.name, fetched, answered)
			}
			before = len(server.Received("tools/list"))
			if fetched, answered := look(true); answered == 0 || fetched > 2 || (fetched > 0) != (tt.awaited > 0) {
				t.Errorf("%s: for a client that waits the list was fetched %d times, and %d answers came", tt.name, fetched, answered)
			}
		})
	}
}

// A list is as fresh as its stalest page.
func TestTheStalestPage(t *testing.T) {
	for _, tt := range []struct {
		pages []string
		want  time.Duration
	}{
		{[]string{"60000"}, time.Minute}, {[]string{"60000", "120000"}, time.Minute}, {[]string{"120000", "60000"}, time.Minute},
		{[]string{"60000", "0"}, 0}, {[]string{"0", "60000"}, 0}, {[]string{"60000", ""}, 0}, {[]string{"-1"}, 0}, {[]string{`"x"`, "60000"}, 0}, {[]string{"1"}, minTTL}, {[]string{"1e300"}, maxTTL},
	} {
		var l listing
		for _, raw := range tt.pages {
			l.noteTTL([]byte(raw))
		}
		if l.ttl != tt.want {
			t.Errorf("pages %q: fresh for %v, want %v", tt.pages, l.ttl, tt.want)
		}
	}
}
