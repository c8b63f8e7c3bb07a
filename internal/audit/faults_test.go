package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// faulty is a file whose writes fail or whose syncs block on demand.
type faulty struct {
	file
	full   *atomic.Bool  // the disk is full: a write stores half of its bytes and fails
	gate   chan struct{} // Sync receives from it; nil = Sync does not block
	synced *atomic.Int32
}

func (f *faulty) Write(b []byte) (int, error) {
	if f.full != nil && f.full.Load() {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.file.Write(b)
}

func (f *faulty) Sync() error {
	if f.gate != nil {
		<-f.gate
	}
	if f.synced != nil {
		f.synced.Add(1)
	}
	return f.file.Sync()
}

// openFaulty opens a log whose file has the given faults.
func openFaulty(t *testing.T, s Settings, with faulty) *Log {
	t.Helper()
	l := New(options(t))
	l.wrap = func(f file) file {
		own := with
		own.file = f
		return &own
	}
	if err := l.Apply(s); err != nil {
		t.Fatal(err)
	}
	return l
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting until %s", what)
		}
	}
}

func closed(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// countOf counts the lines of an event, and adds up their counts.
func countOf(t *testing.T, path, event string) (lines int, sum uint64) {
	t.Helper()
	for _, file := range Files(path) {
		for _, raw := range linesOf(t, file) {
			if l, err := ParseLine(bytes.TrimSuffix(raw, []byte("\n"))); err == nil && l.Event == event {
				lines++
				sum += l.Count
			}
		}
	}
	return lines, sum
}

func TestFullDiskDropsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		var full atomic.Bool
		l := openFaulty(t, settings(path), faulty{full: &full})
		l.Record(callRecord(1))
		eventually(t, "the first record is written", func() bool { return l.State().Sequence == 2 })
		full.Store(true)
		for i := range 17 {
			l.Record(callRecord(i))
		}
		eventually(t, "the records are dropped", func() bool { return l.State().Dropped == 17 })
		if s := l.State(); s.Refusing || !strings.Contains(s.Fault, "no space left") || l.Flags().Has(Refusing) {
			t.Errorf("got state %+v, want the fault no space left and no refusal", s)
		}
		full.Store(false)
		eventually(t, "the log is written again", func() bool { return l.State().Fault == "" })
		l.Record(callRecord(2))
		closed(t, l)
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault != nil || r.Dropped != 17 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0].What, "dropped records: 17") {
			t.Errorf("got %+v, fault %v; want 17 dropped records", r, r.Fault)
		}
		if calls, _ := countOf(t, path, EventCall); calls != 2 {
			t.Errorf("got %d calls, want 2", calls)
		}
	})
}

func TestRequiredLogRefusesAndKeepsRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		var full atomic.Bool
		s := settings(path)
		s.Required, s.Sync = true, SyncEach
		l := openFaulty(t, s, faulty{full: &full})
		full.Store(true)
		var answered atomic.Int32
		l.Commit(callRecord(1), func() { answered.Add(1) })
		eventually(t, "calls are refused", func() bool { return l.Flags().Has(Refusing) })
		l.Commit(callRecord(2), func() { answered.Add(1) }) // belongs to a call that was already running
		time.Sleep(20 * time.Millisecond)
		if n := answered.Load(); n != 0 {
			t.Errorf("%d calls were answered without a record", n)
		}
		full.Store(false)
		eventually(t, "both calls are answered", func() bool { return answered.Load() == 2 })
		if l.Flags().Has(Refusing) || l.State().Dropped != 0 {
			t.Errorf("got state %+v, want no refusal and nothing dropped", l.State())
		}
		closed(t, l)
		if r := verified(t, path, Trust{}); r.Fault != nil || r.Dropped != 0 {
			t.Errorf("got %+v, fault %v", r, r.Fault)
		}
		if calls, _ := countOf(t, path, EventCall); calls != 2 {
			t.Errorf("got %d calls, want 2", calls)
		}
	})
}

// A required log refuses calls before its queue is full, which leaves room for calls in progress.
func TestBacklogRefusesThenDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, required := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			gate := make(chan struct{}, 1)
			gate <- struct{}{} // lets the first line be synced
			s := settings(path)
			s.Required, s.Sync = required, SyncEach
			l := openFaulty(t, s, faulty{gate: gate})
			l.Record(callRecord(0))
			eventually(t, "the writer waits for the disk", func() bool { return l.sequence.Load() == 2 })
			for i := range maxBacklog / 2 {
				l.Record(callRecord(i))
			}
			if got := l.Flags().Has(Refusing); got != required {
				t.Errorf("required %v: refusing %v, want equal", required, got)
			}
			for i := range maxBacklog {
				l.Record(callRecord(i))
			}
			if got := l.State().Dropped; got != maxBacklog/2 {
				t.Errorf("dropped %d records, want %d", got, maxBacklog/2)
			}
			close(gate)
			closed(t, l)
			if r := verified(t, path, Trust{}); r.Fault != nil || r.Dropped != maxBacklog/2 {
				t.Errorf("got %+v, fault %v", r, r.Fault)
			}
		}
	})
}

// The bytes of queued arguments are limited.
func TestQueuedArgumentsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		s := settings(filepath.Join(t.TempDir(), "audit.jsonl"))
		s.Sync = SyncEach
		l := openFaulty(t, s, faulty{gate: gate})
		r := callRecord(0)
		r.Arguments = bytes.Repeat([]byte("x"), 1<<20)
		l.Record(r)
		eventually(t, "the writer waits for the disk", func() bool { return l.sequence.Load() == 2 })
		for range maxQueuedBytes>>20 + 3 {
			l.Record(r)
		}
		if got := l.State().Dropped; got != 3 {
			t.Errorf("dropped %d records, want 3", got)
		}
		close(gate)
		closed(t, l)
	})
}

// Concurrent commits share a sync, and no callback runs before it.
func TestCommitsShareASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var synced atomic.Int32
		gate := make(chan struct{}, 1)
		gate <- struct{}{}
		s := settings(filepath.Join(t.TempDir(), "audit.jsonl"))
		s.Sync = SyncEach
		l := openFaulty(t, s, faulty{gate: gate, synced: &synced})
		var done sync.WaitGroup
		var answered atomic.Int32
		for i := range 100 {
			done.Add(1)
			l.Commit(callRecord(i), func() {
				answered.Add(1)
				done.Done()
			})
		}
		eventually(t, "the first records are written", func() bool { return l.sequence.Load() > 1 })
		time.Sleep(10 * time.Millisecond)
		if n := answered.Load(); n != 0 {
			t.Errorf("%d callbacks ran before the sync", n)
		}
		close(gate)
		done.Wait()
		if n := synced.Load(); n > 10 {
			t.Errorf("%d syncs for 100 records, want at most 10", n)
		}
		closed(t, l)
	})
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := write("keys.yaml", "keys:\n  - name: ci\n")
	newer := write("newer.jsonl", strings.Replace(string(linesOf(t, writeLog(t, 0, nil))[0]), `"format":1`, `"format":2`, 1)+"\n")
	link := filepath.Join(dir, "link.jsonl")
	if err := os.Symlink(writeLog(t, 1, nil), link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		foreign: "not an audit log of goblin-actor", newer: "a newer version of goblin-actor", link: "a symbolic link", dir: "a directory",
		filepath.Join(dir, "no", "audit.jsonl"): "no such file or directory",
	} {
		before, _ := os.ReadFile(path)
		_, err := Open(settings(path), options(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s…", filepath.Base(path), err, want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", filepath.Base(path))
		}
	}
	path := filepath.Join(dir, "audit.jsonl")
	first, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(settings(path), options(t)); !errors.Is(err, ErrInUse) {
		t.Errorf("second writer: got %v, want ErrInUse", err)
	}
	closed(t, first)
	addTo(t, path, 1, nil)
}

func TestIncompleteLineIsRemovedAndRecorded(t *testing.T) {
	for _, torn := range []string{`{"n":12,"ti`, "\x00\x00\x00\x00\n\x00\x00", "{\"n\":7}\n"} {
		path := writeLog(t, 5, nil)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, writeErr := f.WriteString(torn)
		if err := errors.Join(writeErr, f.Close()); err != nil {
			t.Fatal(err)
		}
		addTo(t, path, 5, nil)
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0].What, "bytes was removed here") {
			t.Errorf("%q: got %+v, fault %v; want one note", torn, r, r.Fault)
		}
		if lines, sum := countOf(t, path, EventRepair); lines != 1 || sum != uint64(len(torn)) {
			t.Errorf("%q: got %d repair lines for %d bytes", torn, lines, sum)
		}
	}
}

func TestAnotherKeyStartsAnotherFile(t *testing.T) {
	path := writeLog(t, 5, nil)
	l, err := Open(settings(path), Options{Keys: found(NewKeys([32]byte{9})), Log: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, l)
	if files := Files(path); len(files) != 2 {
		t.Fatalf("got files %v, want 2", files)
	}
	r := verified(t, path, Trust{Key: testKeys.Public()})
	caught(t, r, 1, "is signed with the key "+KeyText(NewKeys([32]byte{9}).Public()))
}

func TestMissingLinesAreRecorded(t *testing.T) {
	path := writeLog(t, 20, nil)
	mark := markOf(t, path)
	mark.File = path
	if err := os.WriteFile(path, bytes.Join(linesOf(t, path)[:10], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Record(callRecord(1))
	l.CheckMark(mark)
	l.Record(callRecord(2))
	closed(t, l)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault == nil || !strings.Contains(r.Fault.What, "were missing when the gateway started") {
		t.Errorf("got %+v, fault %v; want a fault about missing lines", r, r.Fault)
	}
	if lines := linesOf(t, path); !bytes.Contains(lines[len(lines)-1], []byte(`"n":25,`)) { // 22 lines before, then EventMissing, the call and the checkpoint
		t.Errorf("line numbers do not continue after the missing ones: %s", lines[len(lines)-1])
	}
}

// A clock that was set back is noted, and is not a fault.
func TestClockSetBackIsNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(settings(path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	r := callRecord(1)
	r.Time = time.Now().Add(-time.Hour)
	l.Record(r)
	closed(t, l)
	report := verified(t, path, Trust{Key: testKeys.Public()})
	if report.Fault != nil || len(report.Notes) != 1 || !strings.Contains(report.Notes[0].What, "the clock was set back by 1h0m0s") {
		t.Errorf("got %+v, fault %v; want one note about the clock", report, report.Fault)
	}
}

func TestApplyChangesFile(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "two.jsonl")
	l := New(options(t))
	l.Record(callRecord(0)) // ignored: the log is off
	for _, step := range []struct {
		s    Settings
		want bool
	}{{settings(one), true}, {settings(two), true}, {settings(filepath.Join(dir, "no", "x.jsonl")), false}, {Settings{}, true}, {settings(one), true}} {
		err := l.Apply(step.s)
		if (err == nil) != step.want {
			t.Fatalf("Apply with file %s: %v", step.s.File, err)
		}
		l.Record(callRecord(0))
	}
	closed(t, l)
	l.Record(callRecord(0)) // ignored: the log is closed
	if err := l.Apply(settings(two)); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]int{one: 2, two: 2} {
		if calls, _ := countOf(t, path, EventCall); calls != want {
			t.Errorf("%s: got %d calls, want %d", filepath.Base(path), calls, want)
		}
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil {
			t.Errorf("%s: %v", filepath.Base(path), r.Fault)
		}
	}
}
