package monitor

import (
	"math/rand/v2"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// recorder drives the state of the actor as its shell does.
type recorder struct {
	m   *status.Metrics
	s   *secondsState
	now time.Time
}

func newRecorder() *recorder {
	r := &recorder{status.NewMetrics(), newSecondsState(), time.Unix(1_000_000, 0)}
	r.step(kernel.Started{})
	return r
}

// step applies a message and performs its acts. It returns the timer that the step has set.
func (r *recorder) step(msg any) (timer *kernel.Wake) {
	for _, e := range stepSeconds(r.s, r.now, msg, nil) {
		switch a := e.Act.(type) {
		case takeSample:
			stepSeconds(r.s, r.now, sampled{r.m.Sample(nil), 0}, nil)
		case kernel.Wake:
			timer = &a
		}
	}
	return timer
}

// tick advances the clock and fires the timer.
func (r *recorder) tick(d time.Duration) {
	r.now = r.now.Add(d)
	r.step(secondDue{r.s.timer})
}

func (r *recorder) series(after int64) []status.Series {
	reply := make(chan []status.Series, 1)
	r.step(message.GetSeries{After: after, Reply: reply})
	return <-reply
}

// totals returns what the intervals of a server contain.
func (r *recorder) totals(server string) (seconds, minutes status.Totals) {
	for _, s := range r.series(0) {
		for i := 0; s.Server == server && i < len(s.Seconds); i++ {
			seconds.Add(&s.Seconds[i])
		}
		for i := 0; s.Server == server && i < len(s.Minutes); i++ {
			minutes.Add(&s.Minutes[i])
		}
	}
	return seconds, minutes
}

// The intervals of all seconds add up to the counters, for each server and for the gateway, and so do the minutes.
func TestSecondsAddUpToTheCounters(t *testing.T) {
	r, rng := newRecorder(), rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c"}
	for range 200 {
		for range rng.IntN(5) {
			s := r.m.Server(names[rng.IntN(len(names))])
			s.Serve(true)
			s.Call(protocol.Method(rng.IntN(6)), status.Outcome(rng.IntN(4)), rng.ExpFloat64()/100)
			s.Bytes(status.In, rng.IntN(1000))
			s.Bytes(status.Out, rng.IntN(1000))
		}
		r.tick(time.Second + time.Duration(rng.IntN(3))*time.Millisecond)
	}
	for r.now.Unix()%60 != 1 {
		r.tick(time.Second)
	}
	r.tick(time.Second)
	var all status.Sample
	for _, want := range append(r.m.Sample(nil), all) {
		if want.Server == "" {
			want = all
		}
		seconds, minutes := r.totals(want.Server)
		for _, got := range []status.Totals{seconds, minutes} {
			if got.Calls != want.Calls || got.Errors != want.Errors || got.In != want.In || got.Out != want.Out || got.Buckets != want.Buckets {
				t.Errorf("server %q: the intervals have %d calls, %d errors, %d and %d bytes; the counters %d, %d, %d, %d", want.Server,
					got.Calls, got.Errors, got.In, got.Out, want.Calls, want.Errors, want.In, want.Out)
			}
		}
		all.Calls, all.Errors, all.In, all.Out = all.Calls+want.Calls, all.Errors+want.Errors, all.In+want.In, all.Out+want.Out
		for i, n := range want.Buckets {
			all.Buckets[i] += n
		}
	}
	if all.Calls == 0 {
		t.Error("there were no calls")
	}
}

// A removed server has no series. When it is back, its past is not counted again.
func TestRemovedServerHasNoSeries(t *testing.T) {
	r := newRecorder()
	s := r.m.Server("a")
	s.Serve(true)
	s.Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
	r.tick(time.Second)
	if len(r.series(0)) != 2 {
		t.Fatalf("series %+v, want those of the gateway and of a", r.series(0))
	}
	s.SetLoad(3, 4)
	s.Serve(false)
	s.Call(protocol.MethodToolsCall, status.OutcomeCancelled, .01) // while it ends
	r.tick(time.Second)
	if all := r.series(0); len(all) != 1 || len(all[0].Seconds) != 2 || all[0].Seconds[1].Running+all[0].Seconds[1].Queued != 0 {
		t.Fatalf("series %+v, want those of the gateway alone", all)
	}
	s.Serve(true)
	s.SetLoad(0, 0) // as the new pool does
	r.tick(time.Second)
	s.Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
	r.tick(time.Second)
	all := r.series(0)
	if len(all) != 2 || len(all[1].Seconds) != 1 || all[1].Seconds[0].Calls != 1 || all[1].Since != r.now.Unix()-2 {
		t.Errorf("series %+v, want one call of a", all)
	}
}

// The number of intervals is bounded, and old ones are not reported. Seconds without activity take no space.
func TestSecondsAreBounded(t *testing.T) {
	r := newRecorder()
	s := r.m.Server("a")
	s.Serve(true)
	for range 3 * 3600 {
		s.Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
		r.tick(time.Second)
	}
	for _, s := range r.series(0) {
		if len(s.Seconds) != status.MaxSeconds || len(s.Minutes) < status.MaxMinutes-1 || len(s.Minutes) > status.MaxMinutes {
			t.Errorf("%q: %d seconds, %d minutes", s.Server, len(s.Seconds), len(s.Minutes))
		}
		if first := s.Seconds[0].Start; first != r.now.Unix()-status.MaxSeconds || s.Until != r.now.Unix() {
			t.Errorf("%q: from %d until %d at %d", s.Server, first, s.Until, r.now.Unix())
		}
	}
	if got := r.series(r.now.Unix() - 2); len(got[1].Seconds) != 2 || got[1].Minutes != nil {
		t.Errorf("after two seconds ago: %+v", got[1])
	}
	for range 200 {
		r.tick(time.Second)
	}
	if got := r.series(0)[1]; len(got.Seconds) != 100 {
		t.Errorf("after 200 quiet seconds: %d intervals, want 100", len(got.Seconds))
	}
}

// The timer fires at the end of each second. A timer of an earlier generation, or one that fires early, records nothing. If the
// clock is set back by an hour, the recorded past is discarded.
func TestTimerOfSeconds(t *testing.T) {
	r := newRecorder()
	s := r.m.Server("a")
	s.Serve(true)
	r.now = r.now.Add(300 * time.Millisecond)
	timer := r.step(secondDue{r.s.timer})
	if timer == nil || timer.After != 700*time.Millisecond || timer.Msg != any(secondDue{r.s.timer}) {
		t.Fatalf("timer %+v, want one after 700ms", timer)
	}
	if r.step(secondDue{r.s.timer - 1}) != nil {
		t.Error("an old timer sets another one")
	}
	s.Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
	r.tick(10 * time.Millisecond)
	if got, _ := r.totals("a"); got.Calls != 0 {
		t.Error("a second is recorded before its end")
	}
	r.tick(5 * time.Second) // the machine slept
	if got, _ := r.totals("a"); got.Calls != 1 {
		t.Errorf("%d calls, want 1", got.Calls)
	}
	r.tick(-time.Hour)
	s.Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
	r.tick(time.Second)
	if all := r.series(0); len(all[0].Seconds) != 1 || all[0].Seconds[0].Calls != 1 || all[0].Since != r.now.Unix()-1 {
		t.Errorf("series %+v, want one call since the clock was set back", all[0])
	}
}

// The use of the processor is averaged over the last seconds.
func TestCores(t *testing.T) {
	r := newRecorder()
	for i := range 8 {
		stepSeconds(r.s, r.now.Add(time.Duration(i)*time.Second), sampled{nil, time.Duration(max(0, i-2)) * 500 * time.Millisecond}, nil)
	}
	var got any
	r.step(message.Inspect{Reply: func(part any) { got = part }})
	if p, ok := got.(status.Process); !ok || p.CPU != .5 {
		t.Errorf("%+v, want half a core", got)
	}
}

func BenchmarkSecond(b *testing.B) {
	r := newRecorder()
	for i := range 30 {
		s := r.m.Server(string(rune('a' + i)))
		s.Serve(true)
		for method := range protocol.Method(3) {
			s.Call(method, status.OutcomeOK, .01)
		}
	}
	samples := r.m.Sample(nil)
	for b.Loop() {
		for i := range 30 {
			r.m.Server(string(rune('a'+i))).Call(protocol.MethodToolsCall, status.OutcomeOK, .01)
		}
		r.now = r.now.Add(time.Second)
		samples = r.m.Sample(samples)
		stepSeconds(r.s, r.now, sampled{samples, 0}, nil)
	}
}
