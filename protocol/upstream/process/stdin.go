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
	batchBytes   = 64 << 10         // maximum size of a combined write, the default capacity of a Linux pipe
)

// outbox is the bounded queue of frames for stdin. push never blocks. One goroutine at a time writes.
// Exactly one of Written and NotSent is reported for every frame pushed before Closed.
type outbox struct {
	limit   int
	budget  *stream.Budget
	timeout time.Duration
	report  func(upstream.Event) error

	wake     chan struct{}  // capacity 1; wakes the writer
	done     sync.WaitGroup // the writers
	refusals upstream.Refusals

	mu    sync.Mutex
	queue []upstream.Outgoing
	try   func(p []byte) bool // writes all of p or nothing, without blocking; nil = not supported, or no process yet
	busy  bool                // a write is in progress; later frames wait for it
	line  []byte              // buffer of Do, while busy
	bytes int                 // size of the queue and of the write in progress
	err   error               // set by close; later frames are refused with it
	abort bool                // the rest of the queue is not written
	over  bool                // Closed is about to be reported; later frames are dropped
}

func (q *outbox) Init(o Options, report func(upstream.Event) error) {
	q.limit, q.budget, q.timeout, q.report = o.QueueBytes, o.Budget, o.WriteTimeout, report
	if q.limit <= 0 {
		q.limit = queueBytes
	}
	if q.timeout <= 0 {
		q.timeout = writeTimeout
	}
	q.wake = make(chan struct{}, 1)
	q.refusals.Init(report)
}

// start starts the writer of stdin, which closes stdin at the end. fail is called once if a write fails.
func (q *outbox) start(stdin stdinPipe, opened <-chan struct{}, fail func(error)) {
	q.done.Go(func() { q.run(stdin, opened, fail) })
}

// push queues a frame. A frame larger than the limit is accepted if the queue is empty.
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
		if !q.writeInline(o) {
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

// close refuses later frames with err. The writer then writes the queue and closes stdin. If abort is true, the
// queued frames are refused as well.
func (q *outbox) close(err error, abort bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.abort = q.abort || abort
	q.signal()
}

// drain waits for the writer to end and reports NotSent for the remaining frames. Frames pushed later are dropped.
func (q *outbox) drain(report func(upstream.Event)) {
	q.done.Wait()
	q.mu.Lock()
	left := q.queue
	q.queue, q.over = nil, true
	for _, o := range left {
		q.uncount(o)
	}
	q.mu.Unlock()
	q.refusals.Settle()
	for _, o := range left {
		report(upstream.NotSent{Ticket: o.Ticket, Err: q.err})
	}
}

// uncount subtracts a frame from the counters. The caller must hold mu.
func (q *outbox) uncount(o upstream.Outgoing) {
	q.bytes -= len(o.Frame)
	q.budget.Give(len(o.Frame))
}

// run writes until the outbox is closed or a write fails.
func (q *outbox) run(stdin stdinPipe, opened <-chan struct{}, fail func(error)) {
	defer func() { _ = stdin.Close() }() // the frames that were not written are reported as not sent
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
			clear(batch) // release the frames
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

// Take moves the queue into batch, for the caller to write, unless another write is in progress.
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

// stdinPipe is the part of stdin that a writer uses.
type stdinPipe interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
	Close() error
}

// stdinWriter writes batches of frames as lines. One goroutine uses it.
type stdinWriter struct {
	out      stdinPipe
	outbox   *outbox
	expired  func() // ends the process if out does not support deadlines
	buf      []byte
	inBuf    []mark    // frames in buf
	deadline time.Time // write deadline of out
	err      error     // the first failure; nothing is written after it
}

// mark is the offset of a frame in the buffer.
type mark struct {
	o   upstream.Outgoing
	off int
}

// write writes frames and reports the result of each. Small frames share a write.
func (w *stdinWriter) write(batch []upstream.Outgoing) error {
	for _, o := range batch {
		if len(o.Frame) >= batchBytes && !o.Newline {
			w.flush()
			n := 0
			if w.err == nil {
				n, w.err = w.put(o.Frame)
			}
			w.reportResult(o, w.err == nil || n > 0)
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

// flush writes the buffer. A frame counts as not sent if none of its bytes was written.
func (w *stdinWriter) flush() {
	n := 0
	if w.err == nil && len(w.buf) > 0 {
		n, w.err = w.put(w.buf)
	}
	for _, m := range w.inBuf {
		w.reportResult(m.o, w.err == nil || m.off < n)
	}
	clear(w.inBuf)
	w.buf, w.inBuf = w.buf[:0], w.inBuf[:0]
}

func (w *stdinWriter) reportResult(o upstream.Outgoing, written bool) {
	w.outbox.mu.Lock()
	w.outbox.uncount(o)
	w.outbox.mu.Unlock()
	if written {
		_ = w.outbox.report(upstream.Written{Ticket: o.Ticket})
		return
	}
	_ = w.outbox.report(upstream.NotSent{Ticket: o.Ticket, Err: w.err})
}

// put writes p in chunks and limits the time of each, so that a large frame does not time out while the process reads it.
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

// arm limits a write to between 1 and 1.25 times the timeout. It reuses a deadline while it can, since setting one costs
// as much as a small write. If pipes have no deadlines (Windows), a timer ends the process, and the caller must call stop.
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
