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

// A process that is killed while it writes, again and again, leaves a log that goes on and can be verified.
func TestAProcessThatIsKilledLeavesALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opens := 0 // a process that finds a file with a first line says that it goes on with it; one that finds none begins the next one
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
		eventually(t, "it writes", func() bool { return size() > before+int64(round)*50_000+10_000 })
		if err := child.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
		r := verified(t, path, Trust{Key: testKeys.Public()})
		if r.Fault != nil {
			t.Fatalf("after round %d: %v", round, r.Fault)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			opens++
		}
	}
	addTo(t, path, 1, nil)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Unsigned != 0 {
		t.Errorf("got %+v %v", r, r.Fault)
	}
	if got, _ := countOf(t, path, EventOpen); got != opens {
		t.Errorf("%d lines say that a file was gone on with, want %d", got, opens)
	}
	files, _ := countOf(t, path, EventFile)
	t.Logf("%d files, opened again %d times", files, opens)
}

// A process that was killed between two files leaves the old one renamed, and of the new one nothing, an empty file, or one with a part of its
// first line. The next process begins the new file, and the chain goes on.
func TestKilledBetweenTwoFiles(t *testing.T) {
	for _, c := range []struct {
		name  string
		begun *string // what there is of the new file; nil = nothing
		torn  uint64
	}{
		{"no file", nil, 0}, {"an empty one", new(""), 0}, {"a part of a line", new(`{"n":8,"time":"2026-`), 20}, {"a byte", new("{"), 1},
		{"a block that was never written", new(strings.Repeat("\x00", 4096)), 4096},
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
			t.Errorf("%s, before: %v", c.name, r.Fault)
		}
		addTo(t, path, 5, nil)
		if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Files != 2 || r.Unsigned != 0 {
			t.Errorf("%s: got %+v %v", c.name, r, r.Fault)
		}
		opens, _ := countOf(t, path, EventOpen)
		files, _ := countOf(t, path, EventFile)
		calls, _ := countOf(t, path, EventCall)
		if _, torn := countOf(t, path, EventRepair); opens != 0 || files != 2 || calls != 10 || torn != c.torn {
			t.Errorf("%s: opened again %d times, %d files, %d calls, %d bytes cut off", c.name, opens, files, calls, torn)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", c.name, info.Mode(), err)
		}
	}
}

// Who has just made the file and not written to it yet is not robbed of it.
func TestAnEmptyFileOfAnotherIsLeftToIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	o, err := open(path, testKeys, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(path, testKeys, nil); !errors.Is(err, ErrHeld) {
		t.Errorf("got %v", err)
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

// writeForEver is the process that is killed.
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
