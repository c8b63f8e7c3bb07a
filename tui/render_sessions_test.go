package tui

import (
	"testing"

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

// textIn returns the text of a row in a column.
func textIn(k *Kind, r Row, column string) string {
	for i, c := range k.Columns {
		if c.Name == column {
			return r.Cells[i].Text
		}
	}
	return ""
}
