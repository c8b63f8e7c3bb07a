//go:build unix

package audit

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A log stays valid, and can be continued, even if its process is killed repeatedly while writing.
func TestLogSurvivesKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opens := 0 // expected EventOpen lines: a process that finds a first line writes one; otherwise it starts the next file
	for round := range 8 {
		child := exec.Command(os.Args[0], "-test.run=^$")
		child.Env = append(os.Environ(), "AUDIT_TEST_WRITE="+path)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		size := func() int64 {
			var sum int64
			for _, file := range Files(path) {
				if info, err := os.Stat(file); err == nil {
					sum += info.Size()
				}
			}
			return sum
		}
		before := size()
		eventually(t, "the child writes", func() bool { return size() > before+int64(round)*50_000+10_000 })
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // the error says that it was killed
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault != nil {
			t.Fatalf("after round %d: fault %v", round, r.Fault)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			opens++
		}
	}
	addTo(t, path, 1, nil)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Unsigned != 0 {
		t.Errorf("got %+v, fault %v; want no fault and no unsigned lines", r, r.Fault)
	}
	if got, _ := countOf(t, path, EventOpen); got != opens {
		t.Errorf("%d lines of EventOpen, want %d", got, opens)
	}
	files, _ := countOf(t, path, EventFile)
	t.Logf("%d files, reopened %d times", files, opens)
}

// A process that is killed during a rotation leaves the renamed file. The new file is then missing, empty, or contains
// part of its first line. The next process starts the new file and continues the chain.
func TestKilledDuringRotation(t *testing.T) {
	for _, c := range []struct {
		name  string
		begun *string // content of the new file; nil = it does not exist
		torn  uint64
	}{
		{"no file", nil, 0}, {"empty file", new(""), 0}, {"part of a line", new(`{"n":8,"time":"2026-`), 20}, {"one byte", new("{"), 1},
		{"block of zeros", new(strings.Repeat("\x00", 4096)), 4096},
	} {
		path := writeLog(t, 5, nil)
		if err := os.Rename(path, rotatedName(path, 1)); err != nil {
			t.Fatal(err)
		}
		if c.begun != nil {
			if err := os.WriteFile(path, []byte(*c.begun), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil {
			t.Errorf("%s, before reopening: fault %v", c.name, r.Fault)
		}
		addTo(t, path, 5, nil)
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Files != 2 || r.Unsigned != 0 {
			t.Errorf("%s: got %+v, fault %v; want 2 files, no fault", c.name, r, r.Fault)
		}
		opens, _ := countOf(t, path, EventOpen)
		files, _ := countOf(t, path, EventFile)
		calls, _ := countOf(t, path, EventCall)
		if _, torn := countOf(t, path, EventRepair); opens != 0 || files != 2 || calls != 10 || torn != c.torn {
			t.Errorf("%s: got %d EventOpen, %d files, %d calls, %d bytes removed", c.name, opens, files, calls, torn)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, %v; want 0600", c.name, info.Mode(), err)
		}
	}
}

// A process does not take over a file that another process has created but not yet written to.
func TestEmptyFileOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	files := opener{keys: testKeys}
	o, err := files.open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.open(path); !errors.Is(err, ErrInUse) {
		t.Errorf("second open: got %v, want ErrInUse", err)
	}
	if err := o.f.Close(); err != nil {
		t.Fatal(err)
	}
	addTo(t, path, 5, nil)
	if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil {
		t.Error(r.Fault)
	}
}

func TestMain(m *testing.M) {
	if path := os.Getenv("AUDIT_TEST_WRITE"); path != "" {
		writeForEver(path)
	}
	os.Exit(m.Run())
}

// writeForEver is the main function of the child process.
func writeForEver(path string) {
	s := settings(path)
	s.Size = 256 << 10
	l, err := Open(s, Options{Keys: found(testKeys), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		l.Record(callRecord(i))
		if i%200 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}
