//go:build unix

package audit

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A process that is killed while it writes, again and again, leaves a log that goes on and can be verified.
func TestAProcessThatIsKilledLeavesALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
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
	}
	addTo(t, path, 1, nil)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Unsigned != 0 {
		t.Errorf("got %+v %v", r, r.Fault)
	}
	opens, _ := countOf(t, path, EventOpen)
	files, _ := countOf(t, path, EventFile)
	t.Logf("%d files, opened again %d times", files, opens)
	if opens == 0 { // whoever was killed between two files leaves none that is opened again
		t.Error("no file was gone on with")
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
