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

// A log that a reload takes away is not synced any more, and can come back: lines that had been written just before ended the gateway.
func TestALogThatIsTakenAway(t *testing.T) {
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
			time.Sleep(3 * beat)
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

// stubborn is a file on a full disk that cannot even be cut.
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

// A file that is lost with lines in it that are not on disk, and cannot be opened again, is waited for.
func TestAFileThatIsLost(t *testing.T) {
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
		time.Sleep(beat + lag) // between two looks at the clock
		l.Record(callRecord(1))
		time.Sleep(2 * lag)
		full.Store(true)
		if err := os.Rename(dir, dir+"-away"); err != nil {
			t.Fatal(err)
		}
		l.Record(callRecord(2))
		time.Sleep(3 * beat)
		if s := l.State(); s.Fault == "" || s.Dropped == 0 {
			t.Errorf("got %+v", s)
		}
		full.Store(false)
		if err := os.Rename(dir+"-away", dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * beat)
		l.Record(callRecord(3))
		closed(t, l)
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Dropped == 0 {
			t.Errorf("got %+v %v", r, r.Fault)
		}
	})
}
