package identity

import (
	"sync/atomic"
	"time"
)

// Usage counts what a principal does. Its methods are safe for concurrent use, do not block and do not allocate. The
// zero value is ready.
type Usage struct {
	calls    counter
	failed   atomic.Uint64
	refusals counter
	last     atomic.Int64 // Unix second of the last call; 0 = none

	refused      atomic.Int64 // Unix second of the last refusal; 0 = none
	refusedSince atomic.Int64 // Unix second of the first refusal of the streak to which the last one belongs
	why          atomic.Pointer[string]
}

// Periods of the counters of a Usage, in seconds. A refusal continues the streak of the previous one if at most
// streakGap seconds have passed.
const (
	callPeriod    = 10
	refusalPeriod = 60
	streakGap     = 10
)

// UsageCounts are the counts of a Usage at one moment.
type UsageCounts struct {
	Calls, Failed, Refused uint64
	CallsPerSecond         float64   // over the last 10 seconds
	RefusedLastMinute      int       // an estimate
	Last                   time.Time // second of the last call or refusal; zero = there was none
	RefusedSince           time.Time // second in which the current streak of refusals began; zero = there is none
	Why                    string    // why the last request was refused; empty = none was
}

// Ended counts a call that has ended at now.
func (u *Usage) Ended(now time.Time, failed bool) {
	second := now.Unix()
	u.calls.add(second / callPeriod)
	if failed {
		u.failed.Add(1)
	}
	if u.last.Load() != second {
		u.last.Store(second)
	}
}

// Refuse counts a request that is refused at now. why must not be modified afterward.
func (u *Usage) Refuse(now time.Time, why *string) {
	second := now.Unix()
	u.refusals.add(second / refusalPeriod)
	if !near(second, u.refused.Swap(second)) {
		u.refusedSince.Store(second)
	}
	u.why.Store(why)
}

// near reports whether two refusals belong to one streak. If the clock was set back by more, they do not.
func near(second, other int64) bool { return second-other <= streakGap && other-second <= streakGap }

// At returns the counts at now.
func (u *Usage) At(now time.Time) UsageCounts {
	c := UsageCounts{Failed: u.failed.Load()}
	var recent, refusals float64
	c.Calls, recent = u.calls.at(now, callPeriod)
	c.Refused, refusals = u.refusals.at(now, refusalPeriod)
	c.CallsPerSecond, c.RefusedLastMinute = recent/callPeriod, int(refusals+0.5)
	if why := u.why.Load(); why != nil {
		c.Why = *why
	}
	refused := u.refused.Load()
	if last := max(u.last.Load(), refused); last > 0 {
		c.Last = time.Unix(last, 0)
	}
	if refused > 0 && near(now.Unix(), refused) {
		c.RefusedSince = time.Unix(u.refusedSince.Load(), 0)
	}
	return c
}

// counter counts events in the current period of its clock, in the previous one, and in all periods before the current one.
// The parts are separate so that an event costs one atomic addition. If the clock is set back, the periods begin again.
type counter struct {
	current, previous atomic.Uint64 // number of the period (upper 32 bits) and its events (lower 32 bits)
	earlier           atomic.Uint64
}

// add counts an event in a period.
func (c *counter) add(period int64) {
	for {
		now := c.current.Load()
		if at := int64(now >> 32); at == period || at == period+1 { // the second, if another goroutine was ahead
			c.current.Add(1)
			return
		}
		if c.current.CompareAndSwap(now, uint64(period)<<32|1) {
			c.earlier.Add(now & events)
			c.previous.Store(now)
			return
		}
	}
}

const events = 1<<32 - 1 // mask of the events in counter.current

// at returns the number of all events, and an estimate of the number in the last period seconds. The estimate assumes
// that the events of the previous period were evenly distributed.
func (c *counter) at(now time.Time, period int64) (all uint64, recent float64) {
	current, previous := c.current.Load(), c.previous.Load()
	all = c.earlier.Load() + current&events
	number := now.Unix() / period
	left := 1 - float64(now.UnixNano()-number*period*int64(time.Second))/float64(period*int64(time.Second)) // share of the previous period that is still recent
	switch int64(current >> 32) {
	case number - 1:
		return all, left * float64(current&events)
	case number, number + 1:
		if recent = float64(current & events); int64(previous>>32) == number-1 {
			recent += left * float64(previous&events)
		}
	}
	return all, recent
}
