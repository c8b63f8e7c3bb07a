package kernel

import (
	"sync"
	"sync/atomic"
)

const (
	maxIdle = 64  // maximum number of idle goroutines kept for the next mailbox
	maxBusy = 128 // maximum number of goroutines that run mailboxes; further mailboxes are queued
)

// dispatcher runs mailboxes on a pool of goroutines. A new goroutine for each run would have to grow its stack each
// time, which costs more than handling the message. If thousands of actors receive messages at once, most mailboxes
// wait in the queue; none waits long, since no actor blocks. dispatcher implements actor.Dispatcher.
type dispatcher struct {
	busy    atomic.Int64 // goroutines that run a mailbox, or are about to
	waiting atomic.Int64 // length of queue
	mu      sync.Mutex
	queue   []func() // entries before next have been removed
	next    int

	work    chan func() // unbuffered: a send succeeds only if a goroutine is idle
	idle    chan struct{}
	quit    chan struct{}
	once    sync.Once
	workers goroutineCount
}

func newDispatcher() *dispatcher {
	return &dispatcher{work: make(chan func()), idle: make(chan struct{}, maxIdle), quit: make(chan struct{})}
}

func (*dispatcher) Throughput() int { return 1 } // unused: the mailbox limits its own runs

// Schedule runs fn on an idle goroutine or a new one. While maxBusy goroutines are busy, it queues fn for them instead.
// Schedule never blocks, and works after close.
func (d *dispatcher) Schedule(fn func()) {
	if d.busy.Add(1) <= maxBusy {
		d.start(fn)
		return
	}
	d.push(fn)
	d.leave() // a goroutine that became idle may have checked the queue before the push
}

// start runs fn on an idle goroutine or a new one. The caller must have counted it in busy.
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

// leave decrements busy. Then it checks the queue once more, and starts a goroutine for the oldest entry if fewer than
// maxBusy are busy. No entry is left behind: either leave sees an entry that another goroutine has just pushed, or that
// goroutine's own leave sees that busy is below the limit.
func (d *dispatcher) leave() {
	for d.busy.Add(-1) < maxBusy && d.waiting.Load() > 0 {
		if d.busy.Add(1) > maxBusy { // another goroutine was faster
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
	if d.next > len(d.queue)/2 && len(d.queue) == cap(d.queue) { // reuse the space of removed entries
		n := copy(d.queue, d.queue[d.next:])
		clear(d.queue[n:])
		d.queue, d.next = d.queue[:n], 0
	}
	d.queue = append(d.queue, fn)
	d.waiting.Add(1)
}

// pop removes and returns the oldest entry, or nil if the queue is empty.
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

// close ends the goroutines that are idle, and the others once they become idle. workers.wait waits until all have ended.
func (d *dispatcher) close() { d.once.Do(func() { close(d.quit) }) }
