package status

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// randomSnapshot returns a Snapshot with random rows, few enough that two of them have rows in common.
func randomSnapshot(r *rand.Rand) *Snapshot {
	at := time.Unix(1_800_000_000, 0).UTC()
	s := &Snapshot{Version: "v1", Started: at, Now: at.Add(time.Duration(r.IntN(1e6)) * time.Millisecond), Ready: r.IntN(2) == 0, Catalog: Catalog{Version: r.Uint64N(3)},
		Servers: []Server{}, Backends: []Backend{}, Sessions: []Session{}, Calls: []Call{}, Subscriptions: []Subscription{}, Actors: []Actor{}}
	for i := range 4 {
		name := fmt.Sprint("s", i)
		if r.IntN(4) > 0 {
			s.Servers = append(s.Servers, Server{Name: name, State: []string{"ready", "waiting"}[r.IntN(2)], Queued: r.IntN(2), Warnings: []string{name, "w"}[:r.IntN(3)]})
		}
		for n := range r.IntN(3) {
			s.Backends = append(s.Backends, Backend{Server: name, Replica: r.IntN(2), Incarnation: uint64(n), InFlight: r.IntN(2)})
		}
		s.Sessions = append(s.Sessions, Session{ID: fmt.Sprint(r.IntN(3)), Since: at.Add(time.Duration(r.IntN(2)) * time.Second), Client: fmt.Sprint(r.IntN(2))}) // equal ids occur
		if r.IntN(3) > 0 {
			s.Calls = append(s.Calls, Call{ID: fmt.Sprint("c", r.IntN(9)), Began: at, State: fmt.Sprint(r.IntN(2))})
		}
		s.Subscriptions = append(s.Subscriptions, Subscription{Server: name, URI: fmt.Sprint(r.IntN(2)), Session: fmt.Sprint(r.IntN(2)), Who: fmt.Sprint(r.IntN(2))})
		s.Actors = append(s.Actors, Actor{Name: name, Handled: r.Uint64N(2)})
	}
	s.SortRows()
	return s
}

// copyOver returns a copy of value, encoded as JSON and decoded again.
func copyOver[T any](t *testing.T, value *T) *T {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	arrived := new(T)
	if err := json.Unmarshal(raw, arrived); err != nil {
		t.Fatal(err)
	}
	return arrived
}

// asJSON returns the text by which Snapshots are compared. It does not distinguish nil from empty lists.
func asJSON(t *testing.T, s *Snapshot) string {
	t.Helper()
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A Delta, sent as JSON, turns a Snapshot into the next one, whatever changes, and says nothing about what does not.
func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	was := randomSnapshot(r)
	for range 2000 {
		is := randomSnapshot(r)
		before := asJSON(t, was)
		d := diff(was, is)
		if d == nil {
			t.Fatal("two random Snapshots are equal")
		}
		if diff := cmp.Diff(asJSON(t, is), asJSON(t, copyOver(t, d).Apply(was))); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if asJSON(t, was) != before {
			t.Fatal("Apply has modified the Snapshot")
		}
		was = is
	}
	later := *was
	later.Now = later.Now.Add(time.Hour)
	if d := diff(was, &later); d != nil {
		t.Errorf("only the time differs: got %+v", d)
	}
	later.Servers = append([]Server{{Name: "a"}}, was.Servers...)
	raw, _ := json.Marshal(diff(was, &later))
	if want := `{"now":"` + later.Now.Format(time.RFC3339Nano) + `","servers":{"changed":[`; len(raw) < len(want) || string(raw[:len(want)]) != want {
		t.Errorf("got %s, want %s…", raw, want)
	}
}
