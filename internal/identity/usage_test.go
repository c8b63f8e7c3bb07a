package identity

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// noon is the start of a period of each counter.
var noon = time.Unix(1_800_000_000, 0)

// The rate is the average of the last ten seconds, whenever it is read, and falls to 0 after a pause.
func TestRecentCalls(t *testing.T) {
	var u Usage
	for i := range 4000 { // 100 calls a second for 40 s
		u.Ended(noon.Add(time.Duration(i)*10*time.Millisecond), i%4 == 0)
	}
	for _, c := range []struct {
		after time.Duration
		want  float64
	}{{39990 * time.Millisecond, 100}, {45 * time.Second, 50}, {50*time.Second - 1, 0}, {50 * time.Second, 0}, {time.Hour, 0}} {
		if got := u.At(noon.Add(c.after)).CallsPerSecond; math.Abs(got-c.want) > 1 {
			t.Errorf("%v after the first call: %v calls a second, want %v", c.after, got, c.want)
		}
	}
	if c := u.At(noon.Add(time.Hour)); c.Calls != 4000 || c.Failed != 1000 || !c.Last.Equal(noon.Add(39*time.Second)) || c.Refused != 0 || c.Why != "" {
		t.Errorf("counts: %+v", c)
	}
}

// A streak of refusals continues over gaps of 10 s and ends with a longer one.
func TestRefusals(t *testing.T) {
	var u Usage
	rate, limit := "too many requests", "too many concurrent requests"
	for second := range 30 {
		u.Refuse(noon.Add(time.Duration(second)*time.Second), &rate)
	}
	u.Refuse(noon.Add(39*time.Second), &limit)
	at := func(second int) UsageCounts { return u.At(noon.Add(time.Duration(second) * time.Second)) }
	if c := at(49); !c.RefusedSince.Equal(noon) || c.RefusedLastMinute != 31 || c.Refused != 31 || c.Why != limit {
		t.Errorf("10 s after the last refusal: %+v", c)
	}
	if c := at(50); !c.RefusedSince.IsZero() || c.Why != limit {
		t.Errorf("11 s after the last refusal: %+v", c)
	}
	u.Refuse(noon.Add(90*time.Second), &rate)
	if c := at(90); !c.RefusedSince.Equal(noon.Add(90*time.Second)) || c.RefusedLastMinute != 17 || !c.Last.Equal(noon.Add(90*time.Second)) {
		t.Errorf("a later refusal: %+v; want a new streak, and 1 refusal plus half of the 31 before", c)
	}
}

// No event is lost when goroutines count while the period changes.
func TestNoEventIsLost(t *testing.T) {
	var u Usage
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 20_000 {
				u.Ended(noon.Add(time.Duration(i+rand.IntN(100))*10*time.Millisecond), false)
			}
		})
	}
	all.Wait()
	if got := u.At(noon.Add(time.Hour)).Calls; got != 80_000 {
		t.Errorf("%d calls counted, want 80000", got)
	}
}

func TestUsageDoesNotAllocate(t *testing.T) {
	var u Usage
	now, why := noon, "too many requests"
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(time.Second)
		u.Ended(now, true)
		u.Refuse(now, &why)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEnded(b *testing.B) {
	var u Usage
	now := time.Now()
	for b.Loop() {
		u.Ended(now, false)
	}
}

// After the clock is set back, the rate is that of the calls since then, and refusals begin a new streak.
func TestClockIsSetBack(t *testing.T) {
	var u Usage
	why := "too many requests"
	for i := range 200 {
		u.Ended(noon.Add(time.Duration(i)*100*time.Millisecond), false)
	}
	u.Refuse(noon, &why)
	back := noon.Add(-time.Hour)
	if c := u.At(back); c.CallsPerSecond != 0 || !c.RefusedSince.IsZero() || c.Calls != 200 {
		t.Errorf("before a call: %+v", c)
	}
	for i := range 300 {
		u.Ended(back.Add(time.Duration(i)*100*time.Millisecond), false)
		if c := u.At(back.Add(time.Duration(i) * 100 * time.Millisecond)); i == 150 && math.Abs(c.CallsPerSecond-10) > 1 {
			t.Errorf("15 s later: %v calls a second, want 10", c.CallsPerSecond)
		}
	}
	u.Refuse(back.Add(20*time.Second), &why)
	if c := u.At(back.Add(30 * time.Second)); c.Calls != 500 || !c.RefusedSince.Equal(back.Add(20*time.Second)) {
		t.Errorf("30 s later: %+v", c)
	}
}
