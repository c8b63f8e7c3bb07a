package upstream

import "sync"

// Refusals tells what became of frames that were refused in Send, which may not wait for the sink itself.
// A goroutine runs only while there is something to tell.
type Refusals struct {
	tell func(Event) error

	mu      sync.Mutex
	quiet   *sync.Cond // running became false
	waiting []Event
	running bool
}

// Init makes the zero value ready; tell is where events go, and may block.
func (r *Refusals) Init(tell func(Event) error) {
	r.tell = tell
	r.quiet = sync.NewCond(&r.mu)
}

// Add has NotSent told soon. It never blocks.
func (r *Refusals) Add(ticket uint64, err error) { r.Soon(NotSent{Ticket: ticket, Err: err}) }

// Soon has events told, in this order. It never blocks.
func (r *Refusals) Soon(events ...Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, events...)
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *Refusals) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 {
		events := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		for _, e := range events {
			_ = r.tell(e)
		}
		r.mu.Lock()
	}
	r.running = false
	r.quiet.Broadcast()
}

// Settle waits until everything added so far is told.
func (r *Refusals) Settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.running {
		r.quiet.Wait()
	}
}
