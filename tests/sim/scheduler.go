package sim

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"
)

// A turn of an actor takes time, so that a client that floods the gateway slows down the others. Turns are charged in
// groups, because each sleep costs real time.
const (
	turnTime    = 500 * time.Microsecond
	turnsAtOnce = 8
)

// scheduler decides what happens next in a story. It runs one turn of one actor at a time, chosen by the seed. Except for the
// time that turns take, it advances the clock only when nothing is ready to run. Turns and timers run on the goroutine that
// called run.
type scheduler struct {
	rng     *rand.Rand
	delayed int // turns per thousand that are delayed, so that mailboxes fill

	mu        sync.Mutex // other goroutines schedule, too
	nodes     []*nodeScheduler
	ready     []func()
	starting  []func() // goroutines to start after the step
	timers    timers
	order     uint64
	steps     int
	afterStep func()        // called after each step to check invariants
	woken     chan struct{} // receives when there is work while the clock advances
}

// nodeScheduler schedules the actors of one node. It implements kernel.Scheduler.
type nodeScheduler struct {
	*scheduler
	observing []func()             // turns and due timers of observers
	occupied  map[string]time.Time // actors that get no turns, and until when
	turns     int                  // actors' turns since the last charge
}

func newScheduler(rng *rand.Rand) *scheduler {
	return &scheduler{rng: rng, afterStep: func() {}, woken: make(chan struct{}, 1)}
}

// addNode returns the scheduler of another node.
func (f *scheduler) addNode() *nodeScheduler {
	n := &nodeScheduler{scheduler: f, occupied: map[string]time.Time{}}
	f.nodes = append(f.nodes, n)
	return n
}

// wake ends a sleep of run.
func (f *scheduler) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// sleep advances the clock to until, or until there is work.
func (f *scheduler) sleep(until time.Time) {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.woken:
	}
}

// isObserver reports whether an actor only observes: "seconds" takes the differences of counters once a second, "recorder"
// starts and ends recordings, "payloads" keeps payloads, and "monitor" answers everyone who asks for the status. Their turns are not left to the seed,
// so that stories are the same as without them: who asks for the status does so beside the scheduler, possibly at the same
// moment as a timer of the gateway.
func isObserver(actor string) bool {
	return actor == "seconds" || actor == "recorder" || actor == "payloads" || actor == "monitor"
}

// Schedule implements kernel.Scheduler. actor is empty for work that is not an actor's.
func (n *nodeScheduler) Schedule(actor string, run func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if isObserver(actor) {
		n.observing = append(n.observing, run)
		n.wake()
		return
	}
	if until, ok := n.occupied[actor]; ok {
		if time.Now().Before(until) {
			n.setTimer(until, run)
			return
		}
		delete(n.occupied, actor)
	}
	if actor != "" {
		turn := run
		run = func() { n.turns++; turn() }
	}
	n.addReady(run)
}

// Schedule arranges a call of run.
func (f *scheduler) Schedule(run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addReady(run)
}

// addReady adds a call to those that may be next. The caller must hold mu.
func (f *scheduler) addReady(run func()) {
	f.ready = append(f.ready, run)
	f.wake()
}

// occupy keeps an actor from getting turns for the duration d, as if its goroutine were blocked, so that its mailbox fills.
func (n *nodeScheduler) occupy(actor string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.occupied[actor] = time.Now().Add(d)
}

// setTimer calls do at the given time. The caller must hold mu.
func (f *scheduler) setTimer(at time.Time, do func()) *timer {
	t := &timer{at: at, order: f.order, run: do}
	f.order++
	heap.Push(&f.timers, t)
	f.wake()
	return t
}

// Timer implements kernel.Scheduler.
func (n *nodeScheduler) Timer(actor string, d time.Duration, ring func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.setTimer(time.Now().Add(max(d, 0)), ring)
	if isObserver(actor) {
		t.observer = n
	}
}

// After calls ring after d.
func (f *scheduler) After(d time.Duration, ring func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setTimer(time.Now().Add(max(d, 0)), ring)
}

// Go implements kernel.Scheduler. The goroutine starts after the current step. If both ran at the same time, the
// machine would decide which of them schedules an actor first.
func (f *scheduler) Go(run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starting = append(f.starting, run)
	f.wake()
}

// start starts the goroutines of the last step, each once the one before it has ended or is blocked.
func (f *scheduler) start() {
	for {
		synctest.Wait()
		f.mu.Lock()
		if len(f.starting) == 0 {
			f.mu.Unlock()
			return
		}
		run := f.starting[0]
		f.starting = f.starting[1:]
		f.mu.Unlock()
		go run()
	}
}

// run runs work until the end is reached and nothing is left to do at that time, or until stop returns true.
func (f *scheduler) run(end time.Time, stop func() bool) {
	for {
		f.start() // and wait, because another goroutine may write what stop reads
		if stop() {
			return
		}
		if f.observe() {
			continue
		}
		if do := f.next(); do != nil {
			f.steps++
			do()
			f.afterStep()
			f.charge()
			continue
		}
		at, ok := f.nextDue()
		if !ok || at.After(end) {
			if !time.Now().Before(end) {
				return
			}
			at = end
		}
		f.sleep(at)
	}
}

// charge lets the time pass that the turns of the busiest node have taken. The other nodes work in the meantime.
func (f *scheduler) charge() {
	for _, n := range f.nodes {
		if n.turns < turnsAtOnce {
			continue
		}
		for _, n := range f.nodes {
			n.turns = 0
		}
		time.Sleep(turnsAtOnce * turnTime)
	}
}

// next returns a ready turn or a due timer, or nil if there is none.
func (f *scheduler) next() func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.timers) > 0 && f.timers[0].run == nil {
		heap.Pop(&f.timers)
	}
	f.collectDue()
	if len(f.ready) == 0 {
		return nil
	}
	i := f.rng.IntN(len(f.ready))
	do := f.ready[i]
	f.ready = append(f.ready[:i], f.ready[i+1:]...)
	if f.delayed > 0 && f.rng.IntN(1000) < f.delayed {
		f.setTimer(time.Now().Add(time.Duration(f.rng.IntN(2000))*time.Millisecond), do)
		return func() {}
	}
	return do
}

// collectDue makes the timers that are due ready. The caller must hold mu.
func (f *scheduler) collectDue() {
	for len(f.timers) > 0 && !f.timers[0].at.After(time.Now()) {
		t := heap.Pop(&f.timers).(*timer)
		ring := t.run
		t.run = nil
		switch {
		case ring == nil:
		case t.observer != nil:
			t.observer.observing = append(t.observer.observing, ring)
		default:
			f.ready = append(f.ready, ring)
		}
	}
}

// observe runs a turn or timer of an observer. It returns false if there is none. Observers of several nodes may become
// ready at the same moment in an order that is not the seed's, so the nodes have an order.
func (f *scheduler) observe() bool {
	f.mu.Lock()
	f.collectDue()
	for _, n := range f.nodes {
		if len(n.observing) > 0 {
			do := n.observing[0]
			n.observing = n.observing[1:]
			f.mu.Unlock()
			do()
			return true
		}
	}
	f.mu.Unlock()
	return false
}

// nextDue returns the time of the earliest timer.
func (f *scheduler) nextDue() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.timers) > 0 && f.timers[0].run == nil {
		heap.Pop(&f.timers)
	}
	if len(f.timers) == 0 {
		return time.Time{}, false
	}
	return f.timers[0].at, true
}

// timer calls run at a time. run is nil after the timer has fired.
type timer struct {
	at       time.Time
	order    uint64
	run      func()
	observer *nodeScheduler // of the observer whose timer it is; nil = it is not an observer's
}

// timers is a heap ordered by time. Timers for the same time keep their order.
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
