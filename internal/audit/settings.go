package audit

import (
	"errors"
	"fmt"
	"time"
)

// apply applies new settings.
func (w *writer) apply(s Settings) error {
	if s.File != w.s.File {
		if err := w.move(s); err != nil {
			return err
		}
	}
	w.s = s
	w.setFlags()
	if s.File == "" {
		w.l.path.Store(nil)
		w.drop()
		return nil
	}
	w.l.path.Store(&s.File)
	return nil
}

// move switches to another file, or to none. On an error it stays with the current file.
func (w *writer) move(s Settings) error {
	w.flush()
	was, at := *w, w.opened
	if s.File != "" {
		o, err := w.l.opener().open(s.File)
		if err != nil {
			return fmt.Errorf("open audit log: %w", err)
		}
		w.s, w.marks = s, marks{}
		if err := w.begin(o); err != nil {
			w.s, w.marks, w.opened, w.openedAt, w.unsynced = was.s, was.marks, at, was.openedAt, was.unsynced
			return fmt.Errorf("write audit log: %w", err)
		}
	}
	is := *w
	w.s, w.marks, w.opened, w.unsynced = was.s, was.marks, at, was.unsynced
	if err := w.close(); err != nil {
		w.l.o.Log.Error("completing the previous audit log failed", "file", was.s.File, "err", err)
	}
	w.s, w.marks, w.opened, w.unsynced = is.s, is.marks, is.opened, is.unsynced
	if s.File == "" {
		w.opened, w.marks, w.unsynced, w.failing = opened{}, marks{}, false, false
		w.l.mark.Store(nil)
		w.l.checkpoint.Store(nil)
		w.l.fault.Store(nil)
		return nil
	}
	w.l.sequence.Store(w.chain.n)
	w.l.signed.Store(w.marks.last.n)
	w.recovered()
	return nil
}

func (w *writer) setFlags() {
	if w.s.File == "" {
		w.l.flags.Store(0)
		return
	}
	flags := uint32(On)
	if w.s.Both {
		flags |= uint32(Both)
	}
	if w.s.Sync == SyncEach {
		flags |= uint32(Each)
	}
	if w.s.Required {
		flags |= required
	}
	w.l.flags.Store(flags)
	w.l.refuse(w.failing)
}

// begin continues the log in an opened file.
func (w *writer) begin(o opened) error {
	w.opened, w.openedAt = o, o.chain.n
	before := w.chain
	w.buf = w.buf[:0]
	for i := range o.first {
		w.append(&o.first[i])
	}
	if o.chain.pending > 0 { // left by a crash
		w.buf = w.chain.append(w.buf, &Record{Event: EventCheckpoint, Time: time.Now()})
	}
	w.signedAt = time.Now()
	err := w.out(before)
	if err == nil && w.s.Sync != SyncNever {
		err = w.f.Sync()
		w.unsynced = err != nil
	}
	if err != nil && w.f != nil {
		err = errors.Join(err, w.f.Close())
		w.f = nil
	}
	return err
}
