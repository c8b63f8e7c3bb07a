package backend

import (
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// A list is fetched again if a client got it while it was stale, or if a client waits for it, but not while the server
// announces changes. The rate of fetches is limited. A waiting client is always answered.
func TestStaleListsAreFetchedAgain(t *testing.T) {
	for _, tt := range []struct {
		name            string
		ttl             int
		tells           bool
		served, awaited int // number of fetches
	}{
		{"stale at once", 0, false, 1, 2}, {"fresh", 3_600_000, false, 0, 1}, {"announced", 0, true, 0, 0},
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
			if fetched, answered := look(false); fetched < tt.served || fetched > tt.served+1 || answered != 0 {
				t.Errorf("%s: served client: %d fetches and %d answers", tt.name, fetched, answered)
			}
			before = len(server.Received("tools/list"))
			if fetched, answered := look(true); answered == 0 || fetched > 2 || (fetched > 0) != (tt.awaited > 0) {
				t.Errorf("%s: waiting client: %d fetches and %d answers", tt.name, fetched, answered)
			}
		})
	}
}

// A list is fresh for the smallest ttl of its pages.
func TestSmallestTTLCounts(t *testing.T) {
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

// In a cluster, the lists of a server that announces changes are fetched again for a client that waits, but no client waits for the
// pause after that.
func TestAnnouncedListsInACluster(t *testing.T) {
	for _, announced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{Tools: []string{"a"}, ListChanged: announced}
			o := Options{Server: auto(), Open: server.Open, Transport: "stdio", Catalog: true}
			o.Server.Shared = true
			b := startOn(t, o)
			defer b.stop()
			time.Sleep(time.Minute)
			for i, wantAnswer := range []bool{true, announced} {
				b.pool.Got()
				before := len(server.Received("tools/list"))
				b.backend.Tell(message.Fetch{Kind: protocol.Tools, Wanted: true})
				synctest.Wait()
				fetched, answered := len(server.Received("tools/list"))-before, len(actortest.Of[message.FetchResult](b.pool)) > 0
				if fetched != 1-i || answered != wantAnswer {
					t.Errorf("announced %v, client %d: %d fetches, answered %v", announced, i, fetched, answered)
				}
			}
		})
	}
}
