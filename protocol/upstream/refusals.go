package upstream

import "sync"

// Refusals reports events asynchronously, mainly NotSent for frames that Send refused, because Send must not wait for
// the sink. A goroutine runs only while there are events to report.
type Refusals struct {
	report func(Event) error

	mu      sync.Mutex
	quiet   *sync.Cond // signals that running became false
	waiting []Event
	running bool
}

// Init prepares the zero value. report receives the events and may block.
func (r *Refusals) Init(report func(Event) error) {
	r.report = report
	r.quiet = sync.NewCond(&r.mu)
}

// Add reports NotSent asynchronously. It never blocks.
func (r *Refusals) Add(ticket uint64, err error) { r.Soon(NotSent{Ticket: ticket, Err: err}) }

// Soon reports events asynchronously, in this order. It never blocks.
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
			_ = r.report(e)
		}
		r.mu.Lock()
	}
	r.running = false
	r.quiet.Broadcast()
}

// Settle waits until all events so far are reported.
func (r *Refusals) Settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.running {
		r.quiet.Wait()
	}
}
