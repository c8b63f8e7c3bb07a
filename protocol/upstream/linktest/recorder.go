package linktest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/upstream"
)

// Sink returns a sink that calls f and never blocks.
func Sink(f func(upstream.Event)) upstream.Sink {
	return func(_ context.Context, e upstream.Event) error { f(e); return nil }
}

// Recorder is a sink that records events and lets tests wait for them.
type Recorder struct {
	T      testing.TB
	mu     sync.Mutex
	events []upstream.Event
	more   chan struct{} // closed and replaced at each event
}

// New returns an empty recorder.
func New(t testing.TB) *Recorder {
	return &Recorder{T: t, more: make(chan struct{})}
}

// Sink records an event. It is the sink to open a link with. An event after Closed fails the test.
func (r *Recorder) Sink(_ context.Context, e upstream.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.events); n > 0 {
		if _, closed := r.events[n-1].(upstream.Closed); closed {
			r.T.Errorf("event after Closed: %#v", e)
		}
	}
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
	return nil
}

// Events returns the events so far.
func (r *Recorder) Events() []upstream.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]upstream.Event(nil), r.events...)
}

// Until returns the first event for which wanted returns true. The test fails if there is none within two minutes.
func (r *Recorder) Until(what string, wanted func(upstream.Event) bool) upstream.Event {
	r.T.Helper()
	late := time.After(2 * time.Minute)
	for seen := 0; ; {
		r.mu.Lock()
		events, more := r.events, r.more
		r.mu.Unlock()
		for ; seen < len(events); seen++ {
			if wanted(events[seen]) {
				return events[seen]
			}
		}
		select {
		case <-more:
		case <-late:
			r.T.Fatalf("no %s within two minutes; events so far:\n%s", what, Dump(events))
		}
	}
}

// Wait returns the n-th event of a type.
func Wait[E upstream.Event](r *Recorder, n int) E {
	r.T.Helper()
	var zero E
	found := r.Until(fmt.Sprintf("%T number %d", zero, n), func(e upstream.Event) bool {
		if _, is := e.(E); is {
			n--
		}
		return n == 0
	})
	return found.(E)
}

// All returns the events of a type so far.
func All[E upstream.Event](r *Recorder) (found []E) {
	for _, e := range r.Events() {
		if e, is := e.(E); is {
			found = append(found, e)
		}
	}
	return found
}

// Dump formats events, one per line.
func Dump(events []upstream.Event) (s string) {
	for _, e := range events {
		switch e := e.(type) {
		case upstream.Received:
			s += fmt.Sprintf("  Received{%d, %.200s, last %v}\n", e.Ticket, e.Frame.Raw, e.Last)
		case upstream.Noise:
			s += fmt.Sprintf("  Noise{%.200q, %v}\n", e.Line, e.Err)
		default:
			s += fmt.Sprintf("  %#v\n", e)
		}
	}
	return s
}

// Tickets counts the events of each ticket: sent (Written or NotSent) and ended (Received{Last} or Ended).
func Tickets(events []upstream.Event) (sent, ended map[uint64]int) {
	sent, ended = map[uint64]int{}, map[uint64]int{}
	for _, e := range events {
		switch e := e.(type) {
		case upstream.Written:
			sent[e.Ticket]++
		case upstream.NotSent:
			sent[e.Ticket]++
		case upstream.Ended:
			ended[e.Ticket]++
		case upstream.Received:
			if e.Last {
				ended[e.Ticket]++
			}
		}
	}
	return sent, ended
}

// Request returns a ping request.
func Request(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)
}
