package audit

import (
	"errors"
	"time"
)

const (
	maxUnsigned   = 1000        // lines without a signature
	checkpointDue = time.Minute // a line is signed after such a time
	chunk         = 1 << 20     // bytes that are written at once
	maxSpare      = 4 << 20     // a larger buffer is given back
	rotateAgain   = time.Minute // after an attempt that failed
	markLogged    = time.Minute // between two lines about checkpoints in the gateway's log
)

// writer owns the file. All of it belongs to one goroutine.
type writer struct {
	l *Log
	s Settings
	opened
	batch []entry  // taken from the log's queue, not written
	acks  []func() // of what is written, and waits for the disk
	lost  uint64   // records that the file does not tell of yet
	buf   []byte
	spare []entry

	openedAt   uint64 // number of the last line that was in the file when it was opened
	unsynced   bool
	failing    bool
	signedAt   time.Time // when the file was last signed
	rotateNext time.Time // no sooner
	mark       Mark      // newest
	told       uint64    // number of the mark that was told
	logged     time.Time // when one was logged
}

func newWriter(l *Log) *writer { return &writer{l: l} }

// run writes until it is asked to end.
func (w *writer) run() {
	defer close(w.l.ended)
	var due, tick <-chan time.Time
	for {
		if tick == nil && w.busy() {
			tick = time.After(beat)
		}
		select {
		case <-w.l.now:
			due = nil
			w.flush()
		case <-w.l.soon:
			if due == nil {
				due = time.After(lag)
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
				w.remembered(*r.mark)
				r.answer <- nil
			default:
				r.answer <- w.end()
				return
			}
		}
	}
}

// busy reports whether there is something to do when nothing is recorded.
func (w *writer) busy() bool {
	if w.f == nil {
		return w.failing
	}
	w.l.mu.Lock()
	counts := !w.l.denials.until.IsZero()
	w.l.mu.Unlock()
	return counts || w.unsynced || w.failing || w.chain.pending > 0 || w.mark.N > w.told
}

// tick does what is due by the clock.
func (w *writer) tick(now time.Time) {
	w.countDenials(now, false)
	if w.failing {
		w.flush()
	}
	if w.f != nil && w.chain.pending > 0 && now.Sub(w.signedAt) >= checkpointDue {
		w.checkpoint()
	}
	if w.f != nil && w.unsynced && w.s.Sync != SyncNever { // of a file that is lost, whoever opens it again syncs what is left
		w.sync()
	}
	w.tell(now)
}

// countDenials queues the lines about denials that were counted.
func (w *writer) countDenials(now time.Time, must bool) {
	w.l.mu.Lock()
	counted := w.l.denials.over(now, must)
	for _, r := range counted {
		w.l.waiting = append(w.l.waiting, entry{Record: r})
	}
	w.l.mu.Unlock()
	if len(counted) > 0 {
		w.flush()
	}
}

// take moves what waits into the batch.
func (w *writer) take() {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.lost += w.l.lost
	w.l.lost = 0
	if len(w.batch) >= maxBacklog { // of a required log that cannot be written
		return
	}
	waiting := w.l.waiting
	w.l.waiting, w.l.held = w.spare[:0], 0
	if len(w.batch) == 0 {
		w.spare, w.batch = w.batch, waiting
		return
	}
	w.batch = append(w.batch, waiting...)
	clear(waiting)
	w.spare = waiting[:0]
}

// flush writes what waits. What cannot be written stays if the log is required; else it is counted as lost.
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
	w.works()
}

// ensure opens the file again after it was lost.
func (w *writer) ensure() error {
	if w.f != nil {
		return nil
	}
	o, err := open(w.s.File, w.l.keys, w.l.wrap)
	if err != nil {
		return err
	}
	return w.begin(o)
}

// write writes the batch, and takes out of it what is written.
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
		w.append(&Record{Event: EventDropped, Count: w.lost, Detail: "records found no room, or the file could not be written"})
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

// shift takes the first of the batch out of it.
func (w *writer) shift(done int) {
	rest := copy(w.batch, w.batch[done:])
	clear(w.batch[rest:])
	if w.batch = w.batch[:rest]; rest == 0 {
		w.forget()
	}
}

// forget lets go of a batch that is written.
func (w *writer) forget() {
	clear(w.batch)
	w.batch = w.batch[:0]
	if cap(w.batch) > 8*batch {
		w.batch = nil
	}
	if cap(w.buf) > maxSpare {
		w.buf = nil
	}
}

// append makes the record's line, and a checkpoint when one is due.
func (w *writer) append(r *Record) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if cut := w.l.o.Cut; cut != nil {
		r.Item, r.Detail = cut(r.Item), cut(r.Detail)
	}
	w.buf = w.chain.append(w.buf, r)
	if w.chain.pending >= maxUnsigned {
		w.buf = w.chain.append(w.buf, &Record{Event: EventCheckpoint, Time: time.Now()})
	}
}

// out writes the buffer. On an error nothing of it is in the file, and the chain is as it was before.
func (w *writer) out(before chain) error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.f.Write(w.buf)
	if err != nil {
		w.chain = before
		w.buf = w.buf[:0]
		if n > 0 && w.f.Truncate(w.size) != nil { // whoever opens it again cuts off what is not whole
			_ = w.f.Close()
			w.f = nil
		}
		return err
	}
	w.size += int64(n)
	w.buf = w.buf[:0]
	w.unsynced = true
	w.l.sequence.Store(w.chain.n)
	if w.chain.signed.N > w.mark.N {
		w.mark = w.chain.signed
		w.mark.File, w.mark.Key = w.s.File, KeyText(w.l.keys.public)
		w.signedAt = time.Now()
		w.l.signed.Store(w.mark.N)
	}
	return nil
}

// checkpoint signs what is written.
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

// acknowledge calls those who wait for the disk.
func (w *writer) acknowledge() {
	for _, then := range w.acks {
		then()
	}
	clear(w.acks)
	w.acks = w.acks[:0]
}

// failed: the file cannot be written. A required log keeps what it has, and whoever waits for it waits on.
func (w *writer) failed(err error) {
	if !w.failing {
		w.l.o.Log.Error("the audit log cannot be written", "file", w.s.File, "err", err, "required", w.s.Required)
	}
	w.failing = true
	text := err.Error()
	w.l.fault.Store(&text)
	w.l.refuse(true)
	if !w.s.Required {
		w.drop()
	}
}

// drop gives up what is not written.
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

// works: all is written.
func (w *writer) works() {
	if w.failing {
		w.l.o.Log.Info("the audit log is written again", "file", w.s.File)
	}
	w.failing = false
	w.l.fault.Store(nil)
	if w.l.Flags().Has(Refusing) {
		w.l.refuse(false)
	}
}

// end writes, signs and closes.
func (w *writer) end() error {
	w.countDenials(time.Now(), true)
	w.flush()
	err := w.close()
	w.drop()
	return err
}

// close signs and closes the file.
func (w *writer) close() error {
	if w.f == nil {
		return nil
	}
	if w.chain.pending > 0 && !w.failing {
		w.checkpoint()
	}
	if w.f == nil {
		return errors.New("the last lines could not be written")
	}
	err := w.f.Sync()
	w.unsynced = err != nil
	if err == nil {
		w.acknowledge()
		w.tell(time.Now())
	}
	err = errors.Join(err, w.f.Close())
	w.f = nil
	return err
}
