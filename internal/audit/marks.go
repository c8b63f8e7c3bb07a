package audit

import (
	"encoding/hex"
	"time"
)

// marks records the last signed line of the current log, and how far the log's signed lines have been published and
// offered to other nodes.
type marks struct {
	last      signedLine // the last signed line that was written; zero = none yet
	published uint64     // number of the last signed line that was published
	offered   uint64     // number of the last signed line that was offered to other nodes
	news      uint64     // number of the last line that other nodes should know: one that is neither a checkpoint nor a witness
}

// markOf returns the mark of a signed line.
func (w *writer) markOf(line *signedLine) Mark {
	return Mark{N: line.n, Sum: hex.EncodeToString(line.sum[:]), File: w.s.File, Key: KeyText(w.l.keys.public)}
}

// publishMark publishes the last signed line once it is on disk or, with SyncNever, once it is written.
func (w *writer) publishMark(now time.Time) {
	if w.marks.last.n <= w.marks.published || w.failing || w.unsynced && w.s.Sync != SyncNever {
		return
	}
	w.marks.published = w.marks.last.n
	mark := w.markOf(&w.marks.last)
	if now.Sub(w.logged) >= markLogInterval {
		w.logged = now
		w.l.o.Log.Info("audit checkpoint", "n", mark.N, "sum", mark.Sum)
	}
	w.l.mark.Store(&mark)
	w.offer(&mark)
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
