package audit

import (
	"bytes"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testKeys = NewKeys([32]byte{1})

func settings(path string) Settings { return Settings{File: path, Sync: SyncSecond, Size: 100 << 20} }

func quiet(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, nil))
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func options(t *testing.T) Options { return Options{Keys: found(testKeys), Log: quiet(t)} }

// writeLog writes a log with n calls and returns its path.
func writeLog(t *testing.T, n int, change func(*Settings)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	addTo(t, path, n, change)
	return path
}

func addTo(t *testing.T, path string, n int, change func(*Settings)) {
	t.Helper()
	s := settings(path)
	if change != nil {
		change(&s)
	}
	l, err := Open(s, options(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		l.Record(callRecord(i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func callRecord(i int) Record {
	return Record{Event: EventCall, Who: "key:ci", Via: "key", Peer: "127.0.0.1", Session: "ab12cd34", Method: "tools/call", Server: "files", Item: "read_file",
		Decision: Allow, Outcome: "ok", Took: time.Duration(i) * time.Millisecond, In: 120, Out: 3400, Arguments: []byte(`{"path":"a.txt"}`)}
}

func verified(t *testing.T, path string, trust Trust) Report {
	t.Helper()
	r, err := Verify(Files(path), trust)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
}

func TestVerifyAcceptsWhatLogWrites(t *testing.T) {
	path := writeLog(t, 2500, nil)
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Unsigned != 0 || len(r.Notes) != 0 {
		t.Fatalf("got %+v, fault %v", r, r.Fault)
	}
	if want := uint64(2500 + 1 + 3); r.Lines != want { // the first line, and three signatures
		t.Errorf("got %d lines, want %d", r.Lines, want)
	}
	if info, err := os.Stat(path); err != nil || hasModeBits && info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v %v, want 0600", info.Mode(), err)
	}
	addTo(t, path, 10, nil)
	if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Lines != 2500+4+10+2 {
		t.Errorf("after reopening: got %+v, fault %v", r, r.Fault)
	}
}

func TestRotatedFilesFormOneChain(t *testing.T) {
	path := writeLog(t, 3000, func(s *Settings) { s.Size = 64 << 10 })
	addTo(t, path, 3000, func(s *Settings) { s.Size = 64 << 10 })
	if n := len(Files(path)); n < 20 {
		t.Fatalf("got %d files, want at least 20", n)
	}
	for _, file := range Files(path) {
		if info, _ := os.Stat(file); info.Size() > 70<<10 {
			t.Errorf("%s has %d bytes, want at most 70 KiB", file, info.Size())
		}
	}
	if r := verified(t, path, Trust{Key: testKeys.Public()}); r.Fault != nil || r.Lines < 6000 {
		t.Errorf("got %+v, fault %v", r, r.Fault)
	}
	addTo(t, path, 100, func(s *Settings) { s.Size, s.Keep = 64<<10, 3 })
	addTo(t, path, 500, func(s *Settings) { s.Size, s.Keep = 64<<10, 3 })
	r := verified(t, path, Trust{Key: testKeys.Public()})
	if r.Fault != nil || r.Files != 4 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0].What, "starts at line") {
		t.Errorf("after pruning: got %+v, fault %v", r, r.Fault)
	}
}

func found(keys *Keys) func() (*Keys, error) { return func() (*Keys, error) { return keys, nil } }

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func sumOf(line []byte) (sum [32]byte) {
	raw, _ := hex.DecodeString(SumOf(line))
	copy(sum[:], raw)
	return sum
}
