package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

func queuedFor(client string, seq uint64, deadline time.Time) *queued {
	return &queued{Dispatch: message.Dispatch{
		Call:    message.CallRef{Seq: seq},
		Request: &message.Request{Caller: &message.Caller{ClientKey: client}},
	}, deadline: deadline}
}

// The newest timer never fires after the earliest deadline, in whatever order deadlines are added. Only the newest timer
// counts.
func TestQueueTimerFollowsTheEarliestDeadline(t *testing.T) {
	start := time.Unix(1000, 0)
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q callQueue
		var timer queueExpired
		var firesAt time.Time
		now := start
		arm := func() {
			for _, e := range q.arm(now, nil) {
				wake := e.Act.(kernel.Wake)
				timer, firesAt = wake.Msg.(queueExpired), now.Add(wake.After)
			}
		}
		for seq := range uint64(100) {
			now = now.Add(time.Duration(rng.IntN(100)) * time.Millisecond)
			if oldest := q.oldest(); oldest != nil && rng.IntN(3) == 0 {
				q.remove(oldest)
			} else {
				q.add(queuedFor(fmt.Sprint(rng.IntN(4)), seq, now.Add(time.Duration(rng.IntN(2000))*time.Millisecond)))
			}
			arm()
			oldest := q.oldest()
			if oldest == nil {
				continue
			}
			if due := max(0, oldest.deadline.Sub(now)); firesAt.After(now.Add(due)) && firesAt.After(oldest.deadline) {
				t.Fatalf("seed %d, step %d: the timer fires %v after the earliest deadline", seed, seq, firesAt.Sub(oldest.deadline))
			}
			if timer.timer != q.timer.number {
				t.Fatalf("seed %d, step %d: the newest timer is %d, want %d", seed, seq, timer.timer, q.timer.number)
			}
		}
	}
}

// A full queue drops a call of the client with the most calls, if afterwards that client still has at least as many calls as
// the client of the new call.
func TestVictimOfAFullQueue(t *testing.T) {
	for _, c := range []struct {
		waiting map[string]int
		client  string
		want    string // client that loses a call; "" = none
	}{
		{map[string]int{}, "new", ""},
		{map[string]int{"a": 1}, "new", ""},
		{map[string]int{"a": 2}, "new", "a"},
		{map[string]int{"a": 2, "new": 1}, "new", ""},
		{map[string]int{"a": 3, "new": 1}, "new", "a"},
		{map[string]int{"a": 3, "b": 4, "new": 2}, "new", "b"},
		{map[string]int{"a": 3, "b": 4}, "b", ""},
		{map[string]int{"new": 9}, "new", ""},
	} {
		var q callQueue
		seq := uint64(0)
		last := map[string]uint64{}
		for client, n := range c.waiting {
			for range n {
				seq++
				q.add(queuedFor(client, seq, time.Unix(int64(seq), 0)))
				last[client] = seq
			}
		}
		got := ""
		victim := q.victimFor(c.client)
		if victim != nil {
			got = victim.client()
			if victim.Call.Seq != last[got] {
				t.Errorf("queue %v: call %d is the victim, want the client's newest, %d", c.waiting, victim.Call.Seq, last[got])
			}
		}
		want := ""
		if c.want != "" {
			want = (&queued{Dispatch: message.Dispatch{Request: &message.Request{Caller: &message.Caller{ClientKey: c.want}}}}).client()
		}
		if got != want {
			t.Errorf("queue %v, call of %s: victim %q, want %q", c.waiting, c.client, got, want)
		}
	}
}
