package audit

import "time"

// publishMark publishes the last signed line once it is on disk or, with SyncNever, once it is written.
func (w *writer) publishMark(now time.Time) {
	if w.mark.N <= w.publishedMark || w.failing || w.unsynced && w.s.Sync != SyncNever {
		return
	}
	w.publishedMark = w.mark.N
	if now.Sub(w.logged) >= markLogInterval {
		w.logged = now
		w.l.o.Log.Info("audit checkpoint", "n", w.mark.N, "sum", w.mark.Sum)
	}
	mark := w.mark
	w.l.mark.Store(&mark)
	w.l.mu.Lock()
	notify := w.l.notify
	w.l.mu.Unlock()
	if notify != nil {
		notify(mark)
	}
}

// recordMissing records that lines are missing if the log, when it was opened, ended before the known line m.
func (w *writer) recordMissing(m Mark) {
	if w.f == nil || m.File != w.s.File || m.N <= w.openedAt {
		return
	}
	w.flush()
	w.l.o.Log.Error("audit log lines are missing; run goblin-actor audit verify", "file", w.s.File, "last", w.openedAt, "remembered", m.N)
	before := w.chain
	w.chain.n = max(w.chain.n, m.N)
	w.append(&Record{Event: EventMissing, Count: m.N, Detail: "the log had more lines when the gateway last ran"})
	if err := w.out(before); err != nil {
		w.failed(err)
	}
	w.openedAt = m.N
}
