package audit

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// rotate starts a new file if the current one is large or old enough. If the file cannot be renamed, it stays in use.
func (w *writer) rotate(now time.Time) error {
	large := w.size >= w.s.Size
	old := w.s.Age > 0 && now.Sub(w.began) >= w.s.Age
	if !large && !old || now.Before(w.rotateNext) {
		return nil
	}
	before := w.chain
	if w.chain.pending > 0 { // each rotated file ends with a signature
		w.buf = w.chain.append(w.buf[:0], &Record{Event: EventCheckpoint, Time: now})
		if err := w.out(before); err != nil {
			return err
		}
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	number, err := setAside(w.s.File, w.number)
	if err != nil {
		w.rotateNext = now.Add(rotateRetry)
		w.l.o.Log.Error("rotating the audit log failed; the file keeps growing", "file", w.s.File, "err", err)
		return nil
	}
	_ = w.f.Close() // already synced
	w.f = nil
	o, err := w.l.opener().create(w.s.File, opened{number: number + 1, chain: w.chain})
	if err != nil {
		return err
	}
	at := w.openedAt
	if err := w.begin(o); err != nil {
		return err
	}
	w.openedAt = at
	w.prune()
	return nil
}

// setAside renames the file to the first free rotated name, and returns that name's number.
func setAside(path string, number uint64) (uint64, error) {
	for range maxNumber {
		name := rotatedName(path, number)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return number, os.Rename(path, name)
		}
		number++
	}
	return 0, errors.New("no free name for the rotated file: move old audit logs away")
}

// prune deletes the oldest rotated files beyond Settings.Keep.
func (w *writer) prune() {
	old := Rotated(w.s.File)
	if w.s.Keep == 0 || len(old) <= w.s.Keep {
		return
	}
	for _, path := range old[:len(old)-w.s.Keep] {
		if err := os.Remove(path); err != nil {
			w.l.o.Log.Warn("deleting an old audit log failed", "file", path, "err", err)
		}
	}
}
