package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// Each subscription stream has a row of its own, with its own client and number of subscriptions.
func TestSubscriptionStreams(t *testing.T) {
	p := noPicture()
	p.Now = noon
	p.Sessions = []status.Session{{ID: "listen/1", Client: "a", Streams: 1}, {ID: "listen/2", Client: "b", Streams: 1}}
	for _, s := range []status.Subscription{{Session: "listen/1", URI: "x"}, {Session: "listen/1", URI: "y"}, {Session: "listen/2", URI: "x"}} {
		s.Server, s.OwnURI = "files", s.URI
		p.Subscriptions = append(p.Subscriptions, s)
	}
	for i, want := range []string{"2", "1"} {
		if got := textIn(sessionsKind, sessionsKind.Rows(p)[i], "SUBS"); got != want {
			t.Errorf("%s: got %s subscriptions, want %s", p.Sessions[i].ID, got, want)
		}
	}
	clients := map[string]int{}
	for _, r := range subscriptionsKind.Rows(p) {
		clients[textIn(subscriptionsKind, r, "CLIENT")]++
	}
	if clients["a"] != 2 || clients["b"] != 1 {
		t.Errorf("subscriptions by client: %v", clients)
	}
}

// S0.10.6: The row of a resource has the sums over its clients. A rate of the past does not count.
func TestSubscriptionCounts(t *testing.T) {
	p := noPicture()
	p.Now = noon
	for i, ago := range []time.Duration{time.Second, 30 * time.Second, 2 * time.Minute} {
		p.Subscriptions = append(p.Subscriptions, status.Subscription{Session: fmt.Sprint(i), Server: "files", URI: "x", OwnURI: "x", Told: 9, LastMinute: 4, Merged: 2, Last: noon.Add(-ago)})
	}
	var got []string
	for _, r := range subscriptionsKind.Rows(p) {
		got = append(got, textIn(subscriptionsKind, r, "TOLD/MIN")+" "+textIn(subscriptionsKind, r, "MERGED")+" "+textIn(subscriptionsKind, r, "LAST"))
	}
	if want := []string{"8 6 1.0s", "4 2 1.0s", "4 2 30s", "0 2 2m00s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A session whose client has missed messages because it reads too slowly is marked sevLimited only while bytes wait for
// the client.
func TestSlowSession(t *testing.T) {
	for _, c := range []struct {
		status.Session
		mark        Severity
		unsent, why string
	}{
		{status.Session{Streams: 1}, sevGood, "", ""},
		{status.Session{Streams: 1, Unsent: 2048}, sevGood, "2.0K", ""},
		{status.Session{Streams: 1, Unsent: 2048, Dropped: 3}, sevLimited, "2.0K", "3 dropped"},
		{status.Session{Streams: 1, Dropped: 3}, sevGood, "", "3 dropped"},
	} {
		p := noPicture()
		p.Sessions = []status.Session{c.Session}
		r := sessionsKind.Rows(p)[0]
		if r.Mark != c.mark || textIn(sessionsKind, r, "UNSENT") != c.unsent || textIn(sessionsKind, r, "WHY") != c.why {
			t.Errorf("%+v: got mark %v, %q, %q", c.Session, r.Mark, textIn(sessionsKind, r, "UNSENT"), textIn(sessionsKind, r, "WHY"))
		}
	}
}

// textIn returns the text of a row in a column.
func textIn(k *Kind, r Row, column string) string {
	for i, c := range k.Columns {
		if c.Name == column {
			return r.Cells[i].Text
		}
	}
	return ""
}
