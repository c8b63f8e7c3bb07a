package process

import (
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// atomicBytes is the largest write that a pipe performs atomically (PIPE_BUF on Linux).
const atomicBytes = 4096

// writeInline has the queued frame written by the goroutine that waits for its response, if possible, and reports
// whether it did. This saves waking the writer. The caller must hold mu.
func (q *outbox) writeInline(o upstream.Outgoing) bool {
	if q.busy || q.try == nil || o.RunInline == nil || len(q.queue) > 1 || len(o.Frame) >= atomicBytes || o.Newline || !o.RunInline(q) {
		return false
	}
	q.busy = true
	q.done.Add(1) // the outbox is open, so drain does not wait yet
	return true
}

// Do writes the queued frame on the goroutine that waits for its response. If the pipe does not accept it at once, the writer
// writes it.
func (q *outbox) Do() {
	defer q.done.Done()
	o, ok := q.first()
	if q.line = protocol.AppendLine(q.line[:0], protocol.Message{Frame: o.Frame}); ok && q.try(q.line) {
		q.mu.Lock()
		q.queue = slices.Delete(q.queue, 0, 1)
		q.uncount(o)
		q.mu.Unlock()
		_ = q.report(upstream.Written{Ticket: o.Ticket})
	}
	q.free()
}

// first returns the queued frame, or false if it must no longer be written.
func (q *outbox) first() (upstream.Outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.abort || len(q.queue) == 0 {
		return upstream.Outgoing{}, false
	}
	return q.queue[0], true
}

// free ends a write and lets the next one start.
func (q *outbox) free() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if len(q.queue) > 0 || q.err != nil {
		q.signal()
	}
}
