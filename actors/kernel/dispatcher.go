package kernel

import (
	"sync"
	"sync/atomic"
)

const (
	warm  = 64  // goroutines kept for the next wake
	crowd = 128 // mailboxes that have a goroutine at once; the others wait for one of these to be done
)

// dispatcher runs mailboxes on warm goroutines: a new goroutine for each wake would grow its stack each time,
// which costs more than the message. When thousands of actors are told something at once most wait for one of the goroutines there
// are: no actor holds one for long, as none waits for anything. It implements actor.Dispatcher.
type dispatcher struct {
	busy    atomic.Int64 // goroutines that run a mailbox, or are about to
	waiting atomic.Int64 // length of queue
	mu      sync.Mutex
	queue   []func() // those in front of next are taken
	next    int

	work    chan func() // unbuffered: a send succeeds only when a warm goroutine waits
	idle    chan struct{}
	quit    chan struct{}
	once    sync.Once
	workers census
}

func newDispatcher() *dispatcher {
	return &dispatcher{work: make(chan func()), idle: make(chan struct{}, warm), quit: make(chan struct{})}
}

func (*dispatcher) Throughput() int { return 1 } // nobody asks: our mailbox counts time

// Schedule runs fn soon, on a warm goroutine if one is idle. It never blocks, and works after close too.
func (d *dispatcher) Schedule(fn func()) {
	if d.busy.Add(1) <= crowd {
		d.start(fn)
		return
	}
	d.push(fn)
	d.leave() // one that was busy may have looked before there was anything to find
}

// start runs fn on a goroutine that counts as busy already.
func (d *dispatcher) start(fn func()) {
	select {
	case d.work <- fn:
	default:
		d.workers.add()
		go d.worker(fn)
	}
}

func (d *dispatcher) worker(fn func()) {
	defer d.workers.done()
	busy := true
	defer func() {
		if busy { // runtime.Goexit in fn
			d.leave()
		}
	}()
	for {
		for fn != nil {
			fn()
			fn = d.pop()
		}
		busy = false
		d.leave()
		select {
		case d.idle <- struct{}{}:
		default:
			return
		}
		select {
		case fn = <-d.work:
			<-d.idle
			busy = true
		case <-d.quit:
			return
		}
	}
}

// leave ends a place among the busy. Who gives one up looks once more whether anything waits: either he sees what was pushed, or
// whoever pushed it sees that there is a place.
func (d *dispatcher) leave() {
	for d.busy.Add(-1) < crowd && d.waiting.Load() > 0 {
		if d.busy.Add(1) > crowd { // others were quicker
			continue
		}
		if fn := d.pop(); fn != nil {
			d.start(fn)
			return
		}
	}
}

func (d *dispatcher) push(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next > len(d.queue)/2 && len(d.queue) == cap(d.queue) { // most of it is taken: no more room is needed
		n := copy(d.queue, d.queue[d.next:])
		clear(d.queue[n:])
		d.queue, d.next = d.queue[:n], 0
	}
	d.queue = append(d.queue, fn)
	d.waiting.Add(1)
}

// pop takes what has waited longest; nil = nothing waits.
func (d *dispatcher) pop() func() {
	if d.waiting.Load() == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == len(d.queue) {
		return nil
	}
	fn := d.queue[d.next]
	d.queue[d.next] = nil
	d.next++
	if d.waiting.Add(-1); d.next == len(d.queue) {
		d.queue, d.next = nil, 0
	}
	return fn
}

// close lets the warm goroutines end; workers.wait waits for that.
func (d *dispatcher) close() { d.once.Do(func() { close(d.quit) }) }
