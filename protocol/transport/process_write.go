package transport

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"goblin-actor/protocol"
)

const (
	processQueueBytes   = 8 << 20          // default of ProcessOptions.QueueBytes
	processWriteTimeout = 30 * time.Second // default of ProcessOptions.WriteTimeout
	processBatchBytes   = 64 << 10         // frames that are ready together share a write up to this, what a Linux pipe holds
)

// processOutbox is the bounded queue in front of stdin. push never blocks; one goroutine writes.
// Every frame pushed gets exactly one Written or NotSent, unless it comes after Closed.
type processOutbox struct {
	limit   int
	budget  *Budget
	timeout time.Duration
	tell    func(Event) error

	wake     chan struct{}  // capacity 1: the writer has something to do
	done     sync.WaitGroup // the writer
	refusals linkRefusals

	mu    sync.Mutex
	queue []Outgoing
	bytes int   // of queue and of what is being written
	err   error // closed: what later frames are refused with
	abort bool  // write nothing more
	over  bool  // Closed is about to be told: drop what comes
}

func (q *processOutbox) init(o ProcessOptions, tell func(Event) error) {
	q.limit, q.budget, q.timeout, q.tell = o.QueueBytes, o.Budget, o.WriteTimeout, tell
	if q.limit <= 0 {
		q.limit = processQueueBytes
	}
	if q.timeout <= 0 {
		q.timeout = processWriteTimeout
	}
	q.wake = make(chan struct{}, 1)
	q.refusals.init(tell)
}

// start begins to write to stdin, which it closes in the end. fail is called once if a write fails.
func (q *processOutbox) start(stdin processPipe, opened <-chan struct{}, fail func(error)) {
	q.done.Go(func() { q.run(stdin, opened, fail) })
}

// push queues a frame. A frame alone may be larger than the limit.
func (q *processOutbox) push(o Outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over:
	case q.err != nil:
		q.refusals.add(o.Ticket, q.err)
	case q.bytes > 0 && q.bytes+len(o.Frame) > q.limit:
		q.refusals.add(o.Ticket, ErrLinkQueueFull)
	case !q.budget.Take(len(o.Frame)):
		q.refusals.add(o.Ticket, ErrOverBudget)
	default:
		q.queue = append(q.queue, o)
		q.bytes += len(o.Frame)
		q.signal()
	}
}

func (q *processOutbox) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets no more frames in: they are refused with err. The writer writes what waits and closes stdin,
// or with abort refuses that too.
func (q *processOutbox) close(err error, abort bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.abort = q.abort || abort
	q.signal()
}

// drain waits for the writer's end and tells NotSent for all that is left. What is pushed afterwards is dropped.
func (q *processOutbox) drain(tell func(Event)) {
	q.done.Wait()
	q.mu.Lock()
	left := q.queue
	q.queue, q.over = nil, true
	for _, o := range left {
		q.give(o)
	}
	q.mu.Unlock()
	q.refusals.settle()
	for _, o := range left {
		tell(NotSent{Ticket: o.Ticket, Err: q.err})
	}
}

// give counts a frame as gone. Called with mu held.
func (q *processOutbox) give(o Outgoing) {
	q.bytes -= len(o.Frame)
	q.budget.Give(len(o.Frame))
}

// run writes until the outbox is closed or a write fails.
func (q *processOutbox) run(stdin processPipe, opened <-chan struct{}, fail func(error)) {
	defer stdin.Close()
	<-opened
	w := processWriter{out: stdin, outbox: q, expired: func() { fail(q.notReading()) }}
	var batch []Outgoing
	for {
		var open bool
		batch, open = q.take(batch[:0])
		if len(batch) > 0 {
			if err := w.write(batch); err != nil {
				fail(fmt.Errorf("write stdin: %w", err))
				return
			}
			clear(batch) // the frames belong to others: let them go
			continue
		}
		if !open {
			return
		}
		<-q.wake
	}
}

func (q *processOutbox) notReading() error { return fmt.Errorf("%w for %v", ErrNotReading, q.timeout) }

// take moves all that waits into batch.
func (q *processOutbox) take(batch []Outgoing) (_ []Outgoing, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.abort {
		batch = append(batch, q.queue...)
		clear(q.queue)
		q.queue = q.queue[:0]
	}
	return batch, q.err == nil
}

// processPipe is what a writer needs of stdin.
type processPipe interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
	Close() error
}

// processWriter writes batches of frames as lines. Used by one goroutine.
type processWriter struct {
	out      processPipe
	outbox   *processOutbox
	expired  func() // has the process ended when out knows no deadlines
	buf      []byte
	inBuf    []processMark // frames that stand in buf
	deadline time.Time     // of out
	err      error         // the first failure; nothing is written after it
}

// processMark says where in the buffer a frame begins.
type processMark struct {
	o   Outgoing
	off int
}

// write writes all frames and tells of each what became of it. Small ones share a write.
func (w *processWriter) write(batch []Outgoing) error {
	for _, o := range batch {
		if len(o.Frame) >= processBatchBytes && !o.Newline {
			w.flush()
			n := 0
			if w.err == nil {
				n, w.err = w.put(o.Frame)
			}
			w.told(o, w.err == nil || n > 0)
			w.buf = append(w.buf, '\n')
			continue
		}
		w.inBuf = append(w.inBuf, processMark{o, len(w.buf)})
		w.buf = protocol.AppendLine(w.buf, o.Frame, o.Newline)
		if len(w.buf) >= processBatchBytes {
			w.flush()
		}
	}
	w.flush()
	if cap(w.buf) > 2*processBatchBytes {
		w.buf = nil
	}
	return w.err
}

// flush writes the buffer. A frame of which not one byte was taken was not sent.
func (w *processWriter) flush() {
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

func (w *processWriter) told(o Outgoing, written bool) {
	w.outbox.mu.Lock()
	w.outbox.give(o)
	w.outbox.mu.Unlock()
	if written {
		_ = w.outbox.tell(Written{Ticket: o.Ticket})
		return
	}
	_ = w.outbox.tell(NotSent{Ticket: o.Ticket, Err: w.err})
}

// put writes p in portions, each with its own deadline: a slow reader is fine, one that reads nothing is not.
func (w *processWriter) put(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		stop := w.arm()
		m, err = w.out.Write(p[n:min(n+processBatchBytes, len(p))])
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
func (w *processWriter) arm() (stop func() bool) {
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
