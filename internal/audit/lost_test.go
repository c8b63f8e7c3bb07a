package audit

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A log that is switched off right after a write is no longer synced, and can be switched on again. The sync of a nil
// file once crashed the gateway.
func TestLogSwitchedOffAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l, err := Open(settings(path), options(t))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			l.Record(callRecord(1))
			if err := l.Apply(Settings{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * tickInterval)
			if err := l.Apply(settings(path)); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, l)
		if calls, _ := countOf(t, path, EventCall); calls != 2 {
			t.Errorf("got %d calls, want 2", calls)
		}
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil {
			t.Error(r.Fault)
		}
	})
}

// stubborn is a file on a full disk that fails even to truncate.
type stubborn struct {
	file
	full *atomic.Bool
}

func (f *stubborn) Write(b []byte) (int, error) {
	if f.full.Load() {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.file.Write(b)
}

func (f *stubborn) Truncate(size int64) error {
	if f.full.Load() {
		return syscall.EIO
	}
	return f.file.Truncate(size)
}

// A log whose file is lost with unsynced lines, and cannot be reopened, resumes when the file is back.
func TestLostFileIsReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "logs")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path, full, l := filepath.Join(dir, "audit.jsonl"), atomic.Bool{}, New(options(t))
		l.wrap = func(f file) file { return &stubborn{f, &full} }
		if err := l.Apply(settings(path)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(tickInterval + flushDelay) // between two ticks
		l.Record(callRecord(1))
		time.Sleep(2 * flushDelay)
		full.Store(true)
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		l.Record(callRecord(2))
		time.Sleep(3 * tickInterval)
		if s := l.State(); s.Fault == "" || s.Dropped == 0 {
			t.Errorf("got state %+v, want a fault and dropped records", s)
		}
		full.Store(false)
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * tickInterval)
		l.Record(callRecord(3))
		closed(t, l)
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Dropped == 0 {
			t.Errorf("got %+v, fault %v; want no fault and dropped records", r, r.Fault)
		}
	})
}
