package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openNode opens a log of a node, which is closed at the end of the test at the latest.
func openNode(t *testing.T, node, path string, keys *Keys) *Log {
	t.Helper()
	l, err := Open(settings(path), Options{Keys: found(keys), Log: quiet(t), Node: node})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// parsedLines returns all lines of a log.
func parsedLines(t *testing.T, path string) (lines []Line) {
	t.Helper()
	for _, file := range Files(path) {
		for _, raw := range linesOf(t, file) {
			l, err := ParseLine(bytes.TrimSuffix(raw, []byte("\n")))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func TestLineOfNode(t *testing.T) {
	c := newChain(testKeys, "goblin-0")
	c.share(newSharedKey([32]byte{7}))
	r := callRecord(1)
	r.Time, r.Run = now, "goblin-1"
	got := string(c.append(nil, &r))
	want := `{"n":1,"time":"2026-11-25T12:00:00.000000Z","node":"goblin-0","event":"call","who":"key:ci","via":"key","peer":"127.0.0.1","session":"ab12cd34",` +
		`"method":"tools/call","server":"files","item":"read_file","run":"goblin-1","decision":"allow","outcome":"ok","ms":1.000,"in":120,"out":3400,` +
		`"args":"790a8c6f-b296481aeef245c888208a3be7d0d736","prev":""}` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	file := string(c.append(nil, &Record{Event: EventFile, Time: now, Count: 1}))
	if !strings.HasPrefix(file, `{"n":2,"time":"2026-11-25T12:00:00.000000Z","node":"goblin-0","event":"file","format":1,"file":1,"key":"`) {
		t.Errorf("got %s", file)
	}
}

// Nodes with the same shared key write equal HMACs for equal arguments. After a rotation of the key, the id in front of the
// HMAC differs too, in the lines of all nodes.
func TestSharedArguments(t *testing.T) {
	dir := t.TempDir()
	before, after := [32]byte{1}, [32]byte{2}
	var args [2][]string
	for i, node := range []string{"a", "b"} {
		path := filepath.Join(dir, node+".jsonl")
		l := openNode(t, node, path, NewKeys([32]byte{byte(10 + i)}))
		l.Record(callRecord(1))
		eventually(t, "the first record is written", func() bool { return l.State().Sequence == 2 })
		for _, key := range [][32]byte{before, after, after} {
			l.ShareArguments(key)
			l.ShareArguments(key)
			written := l.State().Sequence
			l.Record(callRecord(1))
			eventually(t, "the record is written", func() bool { return l.State().Sequence == written+1 })
		}
		closed(t, l)
		for _, line := range parsedLines(t, path) {
			if line.Node != node {
				t.Errorf("got node %q, want %s", line.Node, node)
			}
			if line.Args != "" {
				args[i] = append(args[i], line.Args)
			}
		}
		if r := verified(t, path, Trust{}); r.Fault != nil {
			t.Error(r.Fault)
		}
	}
	a, b := args[0], args[1]
	if len(a) != 4 || len(b) != 4 {
		t.Fatalf("got %q and %q, want 4 calls each", a, b)
	}
	if a[0] == b[0] || strings.Contains(a[0], "-") {
		t.Errorf("without a shared key: got %s and %s", a[0], b[0])
	}
	if a[1] != b[1] || a[2] != b[2] || a[2] != a[3] {
		t.Errorf("got %q and %q, want equal HMACs with a shared key", a, b)
	}
	if a[1][:9] == a[2][:9] || a[1][9:] == a[2][9:] || a[1][8] != '-' {
		t.Errorf("got %s and %s for two keys", a[1], a[2])
	}
}

// A gateway can become a node, and a node can run alone again. It does not continue the log of another node.
func TestLogOfAnotherNode(t *testing.T) {
	path := writeLog(t, 3, nil)
	for _, node := range []string{"b", "b", ""} {
		l := openNode(t, node, path, testKeys)
		l.Record(callRecord(1))
		closed(t, l)
	}
	l := openNode(t, "b", path, testKeys)
	closed(t, l)
	if r := verified(t, path, Trust{}); r.Fault != nil {
		t.Error(r.Fault)
	}
	refused := func(what string) {
		t.Helper()
		_, err := Open(settings(path), Options{Keys: found(testKeys), Log: quiet(t), Node: "a"})
		if err == nil || !strings.Contains(err.Error(), "this is the log of node b") {
			t.Errorf("%s: got %v, want that this is the log of node b", what, err)
		}
	}
	refused("the current file")
	if err := os.Rename(path, rotatedName(path, 1)); err != nil {
		t.Fatal(err)
	}
	refused("the newest rotated file")
}
