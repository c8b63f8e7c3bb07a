package audit

import (
	"errors"
	"time"
)

const (
	maxUnsigned     = 1000        // maximum number of lines without a signature
	checkpointDue   = time.Minute // maximum age of an unsigned line
	chunk           = 1 << 20     // bytes per write
	maxSpare        = 4 << 20     // a larger buffer is released after use
	rotateRetry     = time.Minute // delay before a failed rotation is retried
	markLogInterval = time.Minute // minimum interval between checkpoint lines in the gateway's log
)

// writer owns the file. All its fields belong to one goroutine.
type writer struct {
	l *Log
	s Settings
	opened
	batch []entry  // taken from the queue, not yet written
	acks  []func() // callbacks of written records that are not yet synced
	lost  uint64   // dropped records that the file does not mention yet
	buf   []byte
	spare []entry

	openedAt   uint64 // number of the last line when the file was opened
	unsynced   bool
	failing    bool
	signedAt   time.Time // time of the last signature
	rotateNext time.Time // earliest next attempt to rotate
	marks      marks
	logged     time.Time // time of the last checkpoint line in the gateway's log
}

func newWriter(l *Log) *writer { return &writer{l: l} }

// run writes until it receives the request to end.
func (w *writer) run() {
	defer close(w.l.ended)
	var due, tick <-chan time.Time
	for {
		if tick == nil && w.busy() {
			tick = time.After(tickInterval)
		}
		select {
		case <-w.l.wakeNow:
			due = nil
			w.flush()
		case <-w.l.wakeSoon:
			if due == nil {
				due = time.After(flushDelay)
			}
		case <-due:
			due = nil
			w.flush()
		case <-tick:
			tick = nil
			w.tick(time.Now())
		case r := <-w.l.control:
			switch {
			case r.settings != nil:
				r.answer <- w.apply(*r.settings)
			case r.mark != nil:
				w.recordMissing(*r.mark)
				r.answer <- nil
			default:
				r.answer <- w.end()
				return
			}
		}
	}
}

// busy reports whether tick must run even if nothing is recorded.
func (w *writer) busy() bool {
	if w.f == nil {
		return w.failing
	}
	w.l.mu.Lock()
	counts := !w.l.denials.until.IsZero()
	w.l.mu.Unlock()
	return counts || w.unsynced || w.failing || w.chain.pending > 0 || w.marks.last.n > w.marks.published
}

// tick performs timed work: counts of denials, retries, checkpoints, syncs and marks.
func (w *writer) tick(now time.Time) {
	w.countDenials(now, false)
	if w.failing {
		w.flush()
	}
	if w.f != nil && w.chain.pending > 0 && now.Sub(w.signedAt) >= checkpointDue {
		w.checkpoint()
	}
	if w.f != nil && w.unsynced && w.s.Sync != SyncNever { // ensure syncs a file that it reopens
		w.sync()
	}
	w.publishMark(now)
}

// countDenials writes the counts of denials if their window has ended, or if must is true.
func (w *writer) countDenials(now time.Time, must bool) {
	w.l.mu.Lock()
	counted := w.l.denials.closeWindow(now, must)
	for _, r := range counted {
		w.l.waiting = append(w.l.waiting, entry{Record: r})
	}
	w.l.mu.Unlock()
	if len(counted) > 0 {
		w.flush()
	}
}

// take moves the queue into the batch.
func (w *writer) take() {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.lost += w.l.lost
	w.l.lost = 0
	if len(w.batch) >= maxBacklog { // happens only if a required log cannot be written
		return
	}
	waiting := w.l.waiting
	w.l.waiting, w.l.queuedBytes = w.spare[:0], 0
	if len(w.batch) == 0 {
		w.spare, w.batch = w.batch, waiting
		return
	}
	w.batch = append(w.batch, waiting...)
	clear(waiting)
	w.spare = waiting[:0]
}

// flush writes all queued records. Records that cannot be written are kept if the log is required, and counted as
// dropped otherwise.
func (w *writer) flush() {
	w.take()
	if w.lost == 0 && len(w.batch) == 0 && !w.failing || w.s.File == "" {
		return
	}
	err := w.ensure()
	if err == nil {
		err = w.write()
	}
	if err == nil && w.unsynced && (w.s.Sync == SyncEach || w.failing) {
		err = w.f.Sync()
		w.unsynced = err != nil
	}
	if err != nil {
		w.failed(err)
		return
	}
	w.acknowledge()
	w.recovered()
}

// ensure reopens the file if it was lost.
func (w *writer) ensure() error {
	if w.f != nil {
		return nil
	}
	o, err := w.l.opener().open(w.s.File)
	if err != nil {
		return err
	}
	return w.begin(o)
}

// write writes the batch and removes what is written from it.
func (w *writer) write() error {
	w.buf = w.buf[:0]
	before, done := w.chain, 0
	defer func() { w.shift(done) }()
	commit := func(upTo int) error {
		if err := w.out(before); err != nil {
			return err
		}
		for ; done < upTo; done++ {
			if then := w.batch[done].then; then != nil {
				w.acks = append(w.acks, then)
			}
		}
		err := w.rotate(time.Now())
		before = w.chain
		return err
	}
	if w.lost > 0 {
		w.append(&Record{Event: EventDropped, Count: w.lost, Detail: "the queue was full, or the file could not be written"})
		if err := w.out(before); err != nil {
			return err
		}
		w.lost, before = 0, w.chain
	}
	for i := range w.batch {
		w.append(&w.batch[i].Record)
		if len(w.buf) < chunk && w.size+int64(len(w.buf)) < w.s.Size {
			continue
		}
		if err := commit(i + 1); err != nil {
			return err
		}
	}
	return commit(len(w.batch))
}

// shift removes the first done entries from the batch.
func (w *writer) shift(done int) {
	rest := copy(w.batch, w.batch[done:])
	clear(w.batch[rest:])
	if w.batch = w.batch[:rest]; rest == 0 {
		w.forget()
	}
}

// forget clears a batch that is written or dropped, and releases large buffers.
func (w *writer) forget() {
	clear(w.batch)
	w.batch = w.batch[:0]
	if cap(w.batch) > 8*batchSize {
		w.batch = nil
	}
	if cap(w.buf) > maxSpare {
		w.buf = nil
	}
}

// append appends the record's line to the buffer, and a checkpoint if one is due.
func (w *writer) append(r *Record) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if cut := w.l.o.Redact; cut != nil {
		r.Item, r.Detail = cut(r.Item), cut(r.Detail)
	}
	w.chain.share(w.l.shared.Load())
	w.buf = w.chain.append(w.buf, r)
	if r.Event != EventWitness {
		w.marks.news = w.chain.n
	}
	if w.chain.pending >= maxUnsigned {
		w.buf = w.chain.append(w.buf, &Record{Event: EventCheckpoint, Time: time.Now()})
	}
}

// out writes the buffer. If that fails, it truncates the file to its previous size, and restores the chain from
// the parameter before. If truncating fails as well, it closes the file, and complete lines of the buffer may remain.
func (w *writer) out(before chain) error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.f.Write(w.buf)
	if err != nil {
		w.chain = before
		w.buf = w.buf[:0]
		if n > 0 && w.f.Truncate(w.size) != nil { // reopening the file removes an incomplete last line; complete lines of the buffer stay, and their records may be written twice
			_ = w.f.Close()
			w.f = nil
		}
		return err
	}
	w.size += int64(n)
	w.buf = w.buf[:0]
	w.unsynced = true
	w.l.sequence.Store(w.chain.n)
	if w.chain.signed.n > w.marks.last.n {
		w.marks.last = w.chain.signed
		w.signedAt = time.Now()
		w.l.signed.Store(w.marks.last.n)
	}
	return nil
}

// checkpoint writes a signed line.
func (w *writer) checkpoint() {
	before := w.chain
	w.buf = w.chain.append(w.buf[:0], &Record{Event: EventCheckpoint, Time: time.Now()})
	if err := w.out(before); err != nil {
		w.failed(err)
	}
}

func (w *writer) sync() {
	if err := w.f.Sync(); err != nil {
		w.failed(err)
		return
	}
	w.unsynced = false
	w.acknowledge()
}

// acknowledge calls the callbacks of records that are on disk.
func (w *writer) acknowledge() {
	for _, then := range w.acks {
		then()
	}
	clear(w.acks)
	w.acks = w.acks[:0]
}

// failed handles a write error. A required log keeps its records and their callbacks until it can be written again.
func (w *writer) failed(err error) {
	if !w.failing {
		w.l.o.Log.Error("writing the audit log failed", "file", w.s.File, "err", err, "required", w.s.Required)
	}
	w.failing = true
	text := err.Error()
	w.l.fault.Store(&text)
	w.l.refuse(true)
	if !w.s.Required {
		w.drop()
	}
}

// drop discards records that are not written, and calls their callbacks.
func (w *writer) drop() {
	w.lost += uint64(len(w.batch))
	w.l.dropped.Add(uint64(len(w.batch)))
	for i := range w.batch {
		if then := w.batch[i].then; then != nil {
			w.acks = append(w.acks, then)
		}
	}
	w.forget()
	w.acknowledge()
}

// recovered clears the failure after a successful write.
func (w *writer) recovered() {
	if w.failing {
		w.l.o.Log.Info("writing the audit log works again", "file", w.s.File)
	}
	w.failing = false
	w.l.fault.Store(nil)
	if w.l.Flags().Has(Refusing) {
		w.l.refuse(false)
	}
}

// end writes all records, signs the log and closes it.
func (w *writer) end() error {
	w.countDenials(time.Now(), true)
	w.flush()
	err := w.close()
	w.drop()
	return err
}

// close signs, syncs and closes the file.
func (w *writer) close() error {
	if w.f == nil {
		return nil
	}
	if w.chain.pending > 0 && !w.failing {
		w.checkpoint()
	}
	if w.f == nil {
		return errors.New("the last lines of the audit log could not be written")
	}
	err := w.f.Sync()
	w.unsynced = err != nil
	if err == nil {
		w.acknowledge()
		w.publishMark(time.Now())
	}
	err = errors.Join(err, w.f.Close())
	w.f = nil
	return err
}
