package audit

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// rotate begins a new file if the one at hand is large or old enough. One that cannot be moved away is gone on with.
func (w *writer) rotate(now time.Time) error {
	large := w.size >= w.s.Size
	old := w.s.Age > 0 && now.Sub(w.began) >= w.s.Age
	if !large && !old || now.Before(w.rotateNext) {
		return nil
	}
	before := w.chain
	if w.chain.pending > 0 { // each file that is complete ends with a signature
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
		w.rotateNext = now.Add(rotateAgain)
		w.l.o.Log.Error("the audit log cannot be rotated; it grows", "file", w.s.File, "err", err)
		return nil
	}
	_ = w.f.Close() // it is synced
	w.f = nil
	o, err := create(w.s.File, opened{number: number + 1, chain: w.chain}, w.l.wrap)
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

// setAside renames the file to that of a rotated one, and returns its number.
func setAside(path string, number uint64) (uint64, error) {
	for range maxNumber {
		name := rotatedName(path, number)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return number, os.Rename(path, name)
		}
		number++
	}
	return 0, errors.New("all names for it are taken")
}

// prune deletes the oldest files beyond Settings.Keep.
func (w *writer) prune() {
	old := Rotated(w.s.File)
	if w.s.Keep == 0 || len(old) <= w.s.Keep {
		return
	}
	for _, path := range old[:len(old)-w.s.Keep] {
		if err := os.Remove(path); err != nil {
			w.l.o.Log.Warn("an old audit log cannot be deleted", "file", path, "err", err)
		}
	}
}
