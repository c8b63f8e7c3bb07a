package clientsubs

import (
	"testing"
	"time"

	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// S0.10.6: LastMinute counts the notifications in the minute before the last one. It is exact for a constant rate.
func TestUpdatesOfTheLastMinute(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var s Subscription
	report := func() (r status.Subscription) {
		s.updates.report(&r)
		return r
	}
	if r := report(); r != (status.Subscription{}) {
		t.Errorf("no updates: %+v", r)
	}
	for i := range 300 {
		s.Count(start.Add(time.Duration(i)*time.Second), downstream.Queued{})
		if r := report(); i >= 59 && (r.LastMinute < 59 || r.LastMinute > 61) || r.Told != uint64(i+1) {
			t.Fatalf("after %d seconds: %+v", i, r)
		}
	}
	s.Count(start.Add(time.Hour), downstream.Queued{Merged: true})
	s.Count(start.Add(time.Hour), downstream.Queued{Over: true})
	s.Merged()
	if r := report(); r.Told != 300 || r.Merged != 2 || !r.Last.Equal(start.Add(299*time.Second)) {
		t.Errorf("merged updates: %+v", r)
	}
	for _, at := range []time.Duration{time.Hour, 0} { // later, and after the clock was set back
		s.Count(start.Add(at), downstream.Queued{})
		if r := report(); r.LastMinute != 1 {
			t.Errorf("after a pause: %+v", r)
		}
	}
}
