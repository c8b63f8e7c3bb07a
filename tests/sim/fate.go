package sim

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"
)

// A turn of an actor takes time, so that who floods the gateway costs others some. Turns are charged together: each sleep costs real time.
const (
	turnTime    = 500 * time.Microsecond
	turnsAtOnce = 8
)

// fate decides what happens next: it runs one turn of one actor at a time, chosen by the seed, and lets the clock go on
// only when nobody has anything to do. It implements kernel.Scheduler. Everything it runs, it runs on the goroutine of run.
type fate struct {
	rng   *rand.Rand
	sloth int // of a thousand turns so many are put off, so that mailboxes fill

	mu     sync.Mutex // other goroutines schedule, too
	ready  []func()
	busy   map[string]time.Time // by actor: until when it has no time
	turns  int                  // of actors
	timers timers
	order  uint64
	steps  int
	after  func()        // after each step: what must always hold
	kick   chan struct{} // somebody has something to do while the clock goes on
}

func newFate(rng *rand.Rand) *fate {
	return &fate{rng: rng, after: func() {}, busy: map[string]time.Time{}, kick: make(chan struct{}, 1)}
}

// wake has run look again, should it be asleep.
func (f *fate) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// sleep lets the clock go on until then, or until somebody has something to do.
func (f *fate) sleep(until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.kick:
	}
}

// Schedule implements kernel.Scheduler. Who is no actor has no name.
func (f *fate) Schedule(actor string, run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if until, ok := f.busy[actor]; ok {
		if time.Now().Before(until) {
			f.put(until, run)
			return
		}
		delete(f.busy, actor)
	}
	if actor != "" {
		turn := run
		run = func() { f.turns++; turn() }
	}
	f.ready = append(f.ready, run)
	f.wake()
}

// occupy leaves an actor without a turn for a while, as if its goroutine stood still: its mailbox fills.
func (f *fate) occupy(actor string, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[actor] = time.Now().Add(d)
}

// put has something done then. The caller has the lock.
func (f *fate) put(at time.Time, do func()) *timer {
	t := &timer{at: at, order: f.order, ring: do}
	f.order++
	heap.Push(&f.timers, t)
	f.wake()
	return t
}

// After implements kernel.Scheduler.
func (f *fate) After(d time.Duration, ring func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(time.Now().Add(max(d, 0)), ring)
}

// run goes on until the time has come and nothing is left to do at that moment, or until says so.
func (f *fate) run(end time.Time, until func() bool) {
	for {
		synctest.Wait() // another goroutine may write what until reads
		if until() {
			return
		}
		if do := f.next(); do != nil {
			f.steps++
			do()
			f.after()
			if f.turns >= turnsAtOnce {
				f.turns = 0
				time.Sleep(turnsAtOnce * turnTime)
			}
			continue
		}
		at, ok := f.due()
		if !ok || at.After(end) {
			if !time.Now().Before(end) {
				return
			}
			at = end
		}
		f.sleep(at)
	}
}

// next takes a turn that is ready, or a timer that is due.
func (f *fate) next() func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.timers) > 0 && f.timers[0].ring == nil {
		heap.Pop(&f.timers)
	}
	for len(f.timers) > 0 && !f.timers[0].at.After(time.Now()) {
		if t := heap.Pop(&f.timers).(*timer); t.ring != nil {
			ring := t.ring
			t.ring = nil
			f.ready = append(f.ready, ring)
		}
	}
	if len(f.ready) == 0 {
		return nil
	}
	i := f.rng.IntN(len(f.ready))
	do := f.ready[i]
	f.ready = append(f.ready[:i], f.ready[i+1:]...)
	if f.sloth > 0 && f.rng.IntN(1000) < f.sloth {
		f.put(time.Now().Add(time.Duration(f.rng.IntN(2000))*time.Millisecond), do)
		return func() {}
	}
	return do
}

// due is when the next timer rings.
func (f *fate) due() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.timers) > 0 && f.timers[0].ring == nil {
		heap.Pop(&f.timers)
	}
	if len(f.timers) == 0 {
		return time.Time{}, false
	}
	return f.timers[0].at, true
}

// timer is something that happens at a moment; ring is nil once it has, or was taken back.
type timer struct {
	at    time.Time
	order uint64
	ring  func()
}

// timers is a heap: the earliest first, of those at once the oldest.
type timers []*timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at.Before(t[j].at) || t[i].at.Equal(t[j].at) && t[i].order < t[j].order
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(*timer)) }
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	return last
}
