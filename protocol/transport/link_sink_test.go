package transport

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// sinkFunc makes a sink that always has room.
func sinkFunc(f func(Event)) Sink {
	return func(_ context.Context, e Event) error { f(e); return nil }
}

// linkRecorder is a sink that keeps everything and lets tests wait for it.
type linkRecorder struct {
	t  testing.TB
	mu sync.Mutex
	// events told so far; more is closed and replaced with each
	events []Event
	more   chan struct{}
}

func newLinkRecorder(t testing.TB) *linkRecorder {
	return &linkRecorder{t: t, more: make(chan struct{})}
}

func (r *linkRecorder) sink(_ context.Context, e Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.events); n > 0 {
		if _, closed := r.events[n-1].(Closed); closed {
			r.t.Errorf("told after Closed: %#v", e)
		}
	}
	r.events = append(r.events, e)
	close(r.more)
	r.more = make(chan struct{})
	return nil
}

func (r *linkRecorder) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

// wait returns the first event that is wanted; the test fails when it does not come within two minutes.
func (r *linkRecorder) wait(what string, wanted func(Event) bool) Event {
	r.t.Helper()
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
			r.t.Fatalf("no %s within two minutes; told was:\n%s", what, linkDump(events))
		}
	}
}

// linkWait returns the n-th event of a type.
func linkWait[E Event](r *linkRecorder, n int) E {
	r.t.Helper()
	var zero E
	found := r.wait(fmt.Sprintf("%T number %d", zero, n), func(e Event) bool {
		if _, is := e.(E); is {
			n--
		}
		return n == 0
	})
	return found.(E)
}

// linkAll returns all events of a type told so far.
func linkAll[E Event](r *linkRecorder) (found []E) {
	for _, e := range r.all() {
		if e, is := e.(E); is {
			found = append(found, e)
		}
	}
	return found
}

func linkDump(events []Event) (s string) {
	for _, e := range events {
		switch e := e.(type) {
		case Received:
			s += fmt.Sprintf("  Received{%d, %.200s, last %v}\n", e.Ticket, e.Frame.Raw, e.Last)
		case Noise:
			s += fmt.Sprintf("  Noise{%.200q, %v}\n", e.Line, e.Err)
		default:
			s += fmt.Sprintf("  %#v\n", e)
		}
	}
	return s
}

// linkTickets counts what was told of each ticket: sent (Written or NotSent) and ended (Received{Last} or Ended).
func linkTickets(events []Event) (sent, ended map[uint64]int) {
	sent, ended = map[uint64]int{}, map[uint64]int{}
	for _, e := range events {
		switch e := e.(type) {
		case Written:
			sent[e.Ticket]++
		case NotSent:
			sent[e.Ticket]++
		case Ended:
			ended[e.Ticket]++
		case Received:
			if e.Last {
				ended[e.Ticket]++
			}
		}
	}
	return sent, ended
}

// processTestFrame is a request.
func processTestFrame(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id)
}
