package pool

import (
	"testing"

	"goblin-actor/actors/message"
)

func TestLeader(t *testing.T) {
	in := func(phase message.Phase, replica int) *connection {
		return &connection{main: true, replica: replica, backendStatus: backendStatus{phase: phase}}
	}
	ready, syncing := message.Ready, message.Syncing
	retiring, leaving, class := in(ready, 0), in(ready, 0), in(ready, 0)
	retiring.retiring, leaving.leaving, class.main = true, true, false
	for name, c := range map[string]struct {
		connections []*connection
		want        int // index; -1 = none
	}{
		"none":                                   {nil, -1},
		"none ready":                             {[]*connection{in(message.Waiting, 0), in(message.Connecting, 1)}, -1},
		"the first replica that is ready":        {[]*connection{in(ready, 2), in(ready, 1), in(syncing, 0)}, 1},
		"the first that is syncing":              {[]*connection{in(syncing, 1), in(syncing, 0)}, 1},
		"not a retiring one if another is ready": {[]*connection{retiring, in(ready, 1)}, 1},
		"a retiring one otherwise":               {[]*connection{retiring, in(syncing, 1)}, 0},
		"not a leaving one":                      {[]*connection{leaving, in(ready, 1)}, 1},
		"not one of a class":                     {[]*connection{class, in(ready, 1)}, 1},
	} {
		r := replicas{connections: c.connections}
		var want *connection
		if c.want >= 0 {
			want = c.connections[c.want]
		}
		if got := r.leader(); got != want {
			t.Errorf("%s: leader %+v, want %+v", name, got, want)
		}
		if got, want := r.hasReadyLeader(), want != nil && want.phase == ready; got != want {
			t.Errorf("%s: hasReadyLeader() = %v, want %v", name, got, want)
		}
	}
}

// Numbers of connections are never reused, so a late message about one cannot reach another.
func TestConnectionNumbersAreUnique(t *testing.T) {
	r := newReplicas(nil)
	first, second := &connection{}, &connection{}
	r.add(first)
	r.add(second)
	r.remove(second)
	third := &connection{}
	r.add(third)
	if first.number != 1 || third.number != 3 {
		t.Errorf("numbers %d and %d, want 1 and 3", first.number, third.number)
	}
	if r.byNumber(2) != nil || r.byNumber(3) != third {
		t.Errorf("byNumber(2) = %v, byNumber(3) = %v; want nil and the third", r.byNumber(2), r.byNumber(3))
	}
}
