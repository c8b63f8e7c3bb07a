package kernel

import "sync"

const warm = 64 // goroutines kept for the next wake

// dispatcher runs mailboxes on warm goroutines: a new goroutine for each wake would grow its stack each time,
// which costs more than the message. It implements actor.Dispatcher.
type dispatcher struct {
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
	select {
	case d.work <- fn:
	default:
		d.workers.add()
		go d.worker(fn)
	}
}

func (d *dispatcher) worker(fn func()) {
	defer d.workers.done()
	for {
		fn()
		select {
		case d.idle <- struct{}{}:
		default:
			return
		}
		select {
		case fn = <-d.work:
			<-d.idle
		case <-d.quit:
			return
		}
	}
}

// close lets the warm goroutines end; workers.wait waits for that.
func (d *dispatcher) close() { d.once.Do(func() { close(d.quit) }) }
