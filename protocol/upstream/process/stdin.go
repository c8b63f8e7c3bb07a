package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	queueBytes   = 8 << 20          // default of Options.QueueBytes
	writeTimeout = 30 * time.Second // default of Options.WriteTimeout
	batchBytes   = 64 << 10         // frames that are ready together share a write up to this, what a Linux pipe holds
)

// outbox is the bounded queue in front of stdin. push never blocks; one goroutine writes.
// Every frame pushed gets exactly one Written or NotSent, unless it comes after Closed.
type outbox struct {
	limit   int
	budget  *stream.Budget
	timeout time.Duration
	tell    func(upstream.Event) error

	wake     chan struct{}  // capacity 1: the writer has something to do
	done     sync.WaitGroup // who writes
	refusals upstream.Refusals

	mu    sync.Mutex
	queue []upstream.Outgoing
	try   func(p []byte) bool // writes all of p without waiting, or nothing; nil = there is no such way, or no process yet
	busy  bool                // somebody writes: what comes after that is written after it
	line  []byte              // for Do, while it is busy
	bytes int                 // of queue and of what is being written
	err   error               // closed: what later frames are refused with
	abort bool                // write nothing more
	over  bool                // Closed is about to be told: drop what comes
}

func (q *outbox) Init(o Options, tell func(upstream.Event) error) {
	q.limit, q.budget, q.timeout, q.tell = o.QueueBytes, o.Budget, o.WriteTimeout, tell
	if q.limit <= 0 {
		q.limit = queueBytes
	}
	if q.timeout <= 0 {
		q.timeout = writeTimeout
	}
	q.wake = make(chan struct{}, 1)
	q.refusals.Init(tell)
}

// start begins to write to stdin, which it closes in the end. fail is called once if a write fails.
func (q *outbox) start(stdin stdinPipe, opened <-chan struct{}, fail func(error)) {
	q.done.Go(func() { q.run(stdin, opened, fail) })
}

// push queues a frame. A frame alone may be larger than the limit.
func (q *outbox) push(o upstream.Outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over:
	case q.err != nil:
		q.refusals.Add(o.Ticket, q.err)
	case q.bytes > 0 && q.bytes+len(o.Frame) > q.limit:
		q.refusals.Add(o.Ticket, upstream.ErrQueueFull)
	case !q.budget.Take(len(o.Frame)):
		q.refusals.Add(o.Ticket, stream.ErrOverBudget)
	default:
		q.queue = append(q.queue, o)
		q.bytes += len(o.Frame)
		if !q.lent(o) {
			q.signal()
		}
	}
}

func (q *outbox) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets no more frames in: they are refused with err. The writer writes what waits and closes stdin,
// or with abort refuses that too.
func (q *outbox) close(err error, abort bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.abort = q.abort || abort
	q.signal()
}

// drain waits for the writer's end and tells NotSent for all that is left. What is pushed afterwards is dropped.
func (q *outbox) drain(tell func(upstream.Event)) {
	q.done.Wait()
	q.mu.Lock()
	left := q.queue
	q.queue, q.over = nil, true
	for _, o := range left {
		q.give(o)
	}
	q.mu.Unlock()
	q.refusals.Settle()
	for _, o := range left {
		tell(upstream.NotSent{Ticket: o.Ticket, Err: q.err})
	}
}

// give counts a frame as gone. Called with mu held.
func (q *outbox) give(o upstream.Outgoing) {
	q.bytes -= len(o.Frame)
	q.budget.Give(len(o.Frame))
}

// run writes until the outbox is closed or a write fails.
func (q *outbox) run(stdin stdinPipe, opened <-chan struct{}, fail func(error)) {
	defer func() { _ = stdin.Close() }() // what was not written before is told as not sent
	<-opened
	q.mu.Lock()
	q.try = tryWrite(stdin)
	q.mu.Unlock()
	w := stdinWriter{out: stdin, outbox: q, expired: func() { fail(q.notReading()) }}
	var batch []upstream.Outgoing
	for {
		var open bool
		batch, open = q.Take(batch[:0])
		if len(batch) > 0 {
			if err := w.write(batch); err != nil {
				fail(fmt.Errorf("write stdin: %w", err))
				return
			}
			clear(batch) // the frames belong to others: let them go
			q.free()
			continue
		}
		if !open {
			return
		}
		<-q.wake
	}
}

func (q *outbox) notReading() error {
	return fmt.Errorf("%w for %v", upstream.ErrNotReading, q.timeout)
}

// Take moves all that waits into batch, to be written by the caller, unless somebody else writes.
func (q *outbox) Take(batch []upstream.Outgoing) (_ []upstream.Outgoing, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy {
		return batch, true
	}
	if !q.abort {
		q.busy = len(q.queue) > 0
		batch = append(batch, q.queue...)
		clear(q.queue)
		q.queue = q.queue[:0]
	}
	return batch, q.err == nil
}

// stdinPipe is what a writer needs of stdin.
type stdinPipe interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
	Close() error
}

// stdinWriter writes batches of frames as lines. Used by one goroutine.
type stdinWriter struct {
	out      stdinPipe
	outbox   *outbox
	expired  func() // has the process ended when out knows no deadlines
	buf      []byte
	inBuf    []mark    // frames that stand in buf
	deadline time.Time // of out
	err      error     // the first failure; nothing is written after it
}

// mark says where in the buffer a frame begins.
type mark struct {
	o   upstream.Outgoing
	off int
}

// write writes all frames and tells of each what became of it. Small ones share a write.
func (w *stdinWriter) write(batch []upstream.Outgoing) error {
	for _, o := range batch {
		if len(o.Frame) >= batchBytes && !o.Newline {
			w.flush()
			n := 0
			if w.err == nil {
				n, w.err = w.put(o.Frame)
			}
			w.told(o, w.err == nil || n > 0)
			w.buf = append(w.buf, '\n')
			continue
		}
		w.inBuf = append(w.inBuf, mark{o, len(w.buf)})
		w.buf = protocol.AppendLine(w.buf, protocol.Message{Frame: o.Frame, Newline: o.Newline})
		if len(w.buf) >= batchBytes {
			w.flush()
		}
	}
	w.flush()
	if cap(w.buf) > 2*batchBytes {
		w.buf = nil
	}
	return w.err
}

// flush writes the buffer. A frame of which not one byte was taken was not sent.
func (w *stdinWriter) flush() {
	n := 0
	if w.err == nil && len(w.buf) > 0 {
		n, w.err = w.put(w.buf)
	}
	for _, m := range w.inBuf {
		w.told(m.o, w.err == nil || m.off < n)
	}
	clear(w.inBuf)
	w.buf, w.inBuf = w.buf[:0], w.inBuf[:0]
}

func (w *stdinWriter) told(o upstream.Outgoing, written bool) {
	w.outbox.mu.Lock()
	w.outbox.give(o)
	w.outbox.mu.Unlock()
	if written {
		_ = w.outbox.tell(upstream.Written{Ticket: o.Ticket})
		return
	}
	_ = w.outbox.tell(upstream.NotSent{Ticket: o.Ticket, Err: w.err})
}

// put writes p in portions, each with its own deadline: a slow reader is fine, one that reads nothing is not.
func (w *stdinWriter) put(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		stop := w.arm()
		m, err = w.out.Write(p[n:min(n+batchBytes, len(p))])
		if stop != nil && !stop() && err != nil {
			err = os.ErrDeadlineExceeded
		}
		n += m
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = w.outbox.notReading()
	}
	return n, err
}

// arm sees to it that a write ends within the timeout and a quarter of it: setting a deadline each time would cost
// as much as a small write. Where pipes have no deadlines (Windows) a timer ends the process; stop must be called then.
func (w *stdinWriter) arm() (stop func() bool) {
	now := time.Now()
	if w.deadline.Sub(now) >= w.outbox.timeout {
		return nil
	}
	w.deadline = now.Add(w.outbox.timeout + w.outbox.timeout/4)
	if w.out.SetWriteDeadline(w.deadline) == nil {
		return nil
	}
	w.deadline = time.Time{}
	return time.AfterFunc(w.outbox.timeout, w.expired).Stop
}
