package process

import (
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// atomicBytes is what a pipe takes at once or not at all (PIPE_BUF of Linux).
const atomicBytes = 4096

// lent has a goroutine that waits for an answer anyway write what is queued, if one can be had: it spares waking the writer. Called with
// mu held.
func (q *outbox) lent(o upstream.Outgoing) bool {
	if q.busy || q.try == nil || o.Lend == nil || len(q.queue) > 1 || len(o.Frame) >= atomicBytes || o.Newline || !o.Lend(q) {
		return false
	}
	q.busy = true
	q.done.Add(1) // while the outbox is open: before drain waits
	return true
}

// Do writes what is queued, on a goroutine that was lent: the pipe takes it at once, or the writer does it.
func (q *outbox) Do() {
	defer q.done.Done()
	o, ok := q.first()
	if q.line = protocol.AppendLine(q.line[:0], protocol.Message{Frame: o.Frame}); ok && q.try(q.line) {
		q.mu.Lock()
		q.queue = slices.Delete(q.queue, 0, 1)
		q.give(o)
		q.mu.Unlock()
		_ = q.tell(upstream.Written{Ticket: o.Ticket})
	}
	q.free()
}

// first is the frame that was queued when the goroutine was lent; none if nothing is to be written any more.
func (q *outbox) first() (upstream.Outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.abort || len(q.queue) == 0 {
		return upstream.Outgoing{}, false
	}
	return q.queue[0], true
}

// free lets the next one write.
func (q *outbox) free() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if len(q.queue) > 0 || q.err != nil {
		q.signal()
	}
}
