package audit

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// nodes are the logs of a cluster's nodes.
type nodes struct {
	t    *testing.T
	dir  string
	logs map[string]*Log
}

// startNodes opens a log for each node. Each has its own signing key.
func startNodes(t *testing.T, names ...string) *nodes {
	n := &nodes{t, t.TempDir(), map[string]*Log{}}
	for _, name := range names {
		n.start(name)
	}
	return n
}

func nodeKeys(node string) *Keys { return NewKeys([32]byte{'k', node[0]}) }

func (n *nodes) path(node string) string { return filepath.Join(n.dir, node+".jsonl") }

func (n *nodes) start(node string) { n.logs[node] = openNode(n.t, node, n.path(node), nodeKeys(node)) }

// call records calls at a node.
func (n *nodes) call(node string, calls int) {
	for i := range calls {
		n.logs[node].Record(callRecord(i))
	}
}

// minute lets a minute pass, after which each node tells the others its checkpoint, as a cluster does.
func (n *nodes) minute() {
	time.Sleep(time.Minute)
	for to, log := range n.logs {
		for from, other := range n.logs {
			if c := other.Checkpoint(); from != to && c != (Checkpoint{}) {
				if err := log.Witness(from, c); err != nil {
					n.t.Errorf("%s witnesses %s: %v", to, from, err)
				}
			}
		}
	}
}

func (n *nodes) close() {
	for _, log := range n.logs {
		closed(n.t, log)
	}
}

// witnessLines returns the lines of a log that quote checkpoints.
func witnessLines(t *testing.T, path string) (lines []Line) {
	t.Helper()
	for _, line := range parsedLines(t, path) {
		if line.Event == EventWitness {
			lines = append(lines, line)
		}
	}
	return lines
}

// Each node quotes the newest checkpoints of the others. Every quoted line is a line of the other log.
func TestNodesWitnessEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b", "c")
		for range 3 {
			for node := range n.logs {
				n.call(node, 5)
			}
			n.minute()
			n.minute()
		}
		n.close()
		for node := range n.logs {
			r := verified(t, n.path(node), Trust{Key: nodeKeys(node).Public()})
			if r.Fault != nil {
				t.Fatal(r.Fault)
			}
			of := map[string]int{}
			for _, line := range witnessLines(t, n.path(node)) {
				quoted, err := (&Checkpoint{line.Key, line.Witness}).parse()
				if err != nil {
					t.Fatal(err)
				}
				of[quoted.Node]++
				raw, err := os.ReadFile(n.path(quoted.Node))
				if err != nil || !bytes.Contains(raw, []byte(line.Witness+"\n")) || line.Key != KeyText(nodeKeys(quoted.Node).Public()) {
					t.Errorf("%s quotes %s, which is not in the log of node %s", node, line.Witness, quoted.Node)
				}
			}
			if len(of) != 2 || of[node] != 0 {
				t.Errorf("%s witnessed %v, want both other nodes", node, of)
			}
			for other, times := range of {
				if times < 3 || times > 6 {
					t.Errorf("%s quotes %s %d times in six minutes, with calls in three of them", node, other, times)
				}
			}
		}
	})
}

// Lines about other nodes do not cause more of them: the logs of an idle cluster do not grow.
func TestIdleClusterWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b", "c")
		n.call("a", 1)
		for range 5 {
			n.minute()
		}
		before := map[string]uint64{}
		for node, log := range n.logs {
			before[node] = log.State().Sequence
		}
		for range 60 {
			n.minute()
		}
		for node, log := range n.logs {
			if now := log.State().Sequence; now != before[node] {
				t.Errorf("the log of %s has grown from %d to %d lines in an idle hour", node, before[node], now)
			}
		}
		n.close()
	})
}

// A log offers only checkpoints that are on disk, and only if it belongs to a node of a cluster.
func TestCheckpointIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := openNode(t, "a", path, testKeys)
		if c := l.Checkpoint(); c != (Checkpoint{}) {
			t.Errorf("got %+v before the first sync", c)
		}
		l.Record(callRecord(1))
		time.Sleep(2 * tickInterval)
		if c := l.Checkpoint(); !strings.HasPrefix(c.Line, `{"n":1,`) {
			t.Errorf("got %+v, want the first line", c)
		}
		if err := l.Apply(Settings{}); err != nil {
			t.Fatal(err)
		}
		if c := l.Checkpoint(); c != (Checkpoint{}) {
			t.Errorf("got %+v of a log that is off", c)
		}
		closed(t, l)
		alone := openNode(t, "", filepath.Join(t.TempDir(), "audit.jsonl"), testKeys)
		time.Sleep(2 * time.Minute)
		closed(t, alone)
		if c := alone.Checkpoint(); c != (Checkpoint{}) || alone.Mark().N == 0 {
			t.Errorf("got %+v of a gateway that runs alone", c)
		}
	})
}

// checkpointOf returns a checkpoint of a new log of a node.
func checkpointOf(node string, n uint64, keys *Keys) Checkpoint {
	c := newChain(keys, node)
	c.n = n - 1
	b := c.append(nil, &Record{Event: EventCheckpoint, Time: now})
	return Checkpoint{Key: KeyText(keys.Public()), Line: string(bytes.TrimSuffix(b, []byte("\n")))}
}

func TestWitnessRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openNode(t, "a", path, testKeys)
	good := checkpointOf("b", 7, nodeKeys("b"))
	call := newChain(nodeKeys("b"), "b")
	r := callRecord(1)
	unsigned := string(bytes.TrimSpace(call.append(nil, &r)))
	for what, c := range map[string]struct {
		node string
		c    Checkpoint
	}{
		"of another node":      {"c", good},
		"of its own":           {"a", checkpointOf("a", 7, nodeKeys("a"))},
		"without a node":       {"", checkpointOf("", 7, nodeKeys("b"))},
		"another key":          {"b", Checkpoint{KeyText(nodeKeys("c").Public()), good.Line}},
		"changed":              {"b", Checkpoint{good.Key, strings.Replace(good.Line, `"n":7`, `"n":8`, 1)}},
		"not signed":           {"b", Checkpoint{good.Key, unsigned}},
		"empty":                {"b", Checkpoint{}},
		"not a line":           {"b", Checkpoint{good.Key, "{}"}},
		"long":                 {"b", Checkpoint{good.Key, good.Line + strings.Repeat(" ", maxCheckpoint)}},
		"long key":             {"b", Checkpoint{strings.Repeat("#", maxText) + "\n" + good.Key, good.Line}},
		"commented key":        {"b", Checkpoint{"# b\n" + good.Key, good.Line}},
		"not UTF-8":            {"b", Checkpoint{good.Key, good.Line + "\xff"}},
		"newline in the quote": {"b", Checkpoint{good.Key, good.Line + "\n"}},
	} {
		if err := l.Witness(c.node, c.c); !errors.Is(err, errCheckpoint) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := l.Witness("b", good); err != nil {
		t.Error(err)
	}
	closed(t, l)
	if lines := witnessLines(t, path); len(lines) != 1 || lines[0].Witness != good.Line {
		t.Errorf("got %+v, want the valid checkpoint only", lines)
	}
	if r := verified(t, path, Trust{}); r.Fault != nil {
		t.Error(r.Fault)
	}
}

// A node's log is witnessed once a minute, and 16 nodes a minute at most. Names of nodes that are gone make room.
func TestWitnessesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := openNode(t, "a", path, testKeys)
		for i := range 1000 {
			if err := l.Witness("b", checkpointOf("b", uint64(i+1), nodeKeys("b"))); err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		for i := range 100 {
			name := fmt.Sprintf("x%d", i)
			if l.Witness(name, checkpointOf(name, 1, nodeKeys("x"))) != nil {
				refused++
			}
		}
		if refused != 100-(maxWitnessed-1) {
			t.Errorf("%d nodes were refused, want all but %d", refused, maxWitnessed-1)
		}
		time.Sleep(time.Minute)
		if err := l.Witness("new", checkpointOf("new", 1, nodeKeys("x"))); err != nil {
			t.Error(err)
		}
		closed(t, l)
		if n := len(l.witnesses.seen); n != maxWitnessed {
			t.Errorf("%d nodes are remembered, want %d", n, maxWitnessed)
		}
		if lines := witnessLines(t, path); len(lines) != maxWitnessed+1 {
			t.Errorf("got %d lines", len(lines))
		}
	})
}

// warnings counts the warnings in a gateway's log.
type warnings struct{ count atomic.Int32 }

func (w *warnings) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("level=WARN")) {
		w.count.Add(1)
	}
	return len(b), nil
}

// A log that goes back is still witnessed, and the gateway's log warns at once.
func TestWitnessWarnsOfLostLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out warnings
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l, err := Open(settings(path), Options{Keys: found(testKeys), Log: slog.New(slog.NewTextHandler(&out, nil)), Node: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			n       uint64
			keys    *Keys
			warning bool
		}{{80, nodeKeys("b"), false}, {90, nodeKeys("b"), false}, {31, nodeKeys("b"), true}, {40, nodeKeys("b"), false}, {50, nodeKeys("c"), true}} {
			before := out.count.Load()
			if err := l.Witness("b", checkpointOf("b", c.n, c.keys)); err != nil {
				t.Fatal(err)
			}
			if got := out.count.Load() > before; got != c.warning {
				t.Errorf("n=%d: got a warning: %v", c.n, got)
			}
			time.Sleep(time.Minute)
		}
		closed(t, l)
		if lines := witnessLines(t, path); len(lines) != 5 {
			t.Errorf("got %d lines, want 5", len(lines))
		}
	})
}

// What a client sends cannot become a witness: no field of a record starts another event.
func TestClientsCannotForgeWitnesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openNode(t, "a", path, testKeys)
	c := checkpointOf("b", 7, nodeKeys("b"))
	evil := `x","event":"witness","key":"` + c.Key + `","witness":"` + strings.ReplaceAll(c.Line, `"`, `\"`) + `","detail":"`
	for _, text := range []string{evil, evil + "\n", EventWitness} {
		l.Record(Record{Event: EventCall, Who: text, Via: text, Peer: text, Session: text, Call: text, Project: text, Method: text, Server: text, Item: text, Run: text, Rule: text, Outcome: text, Detail: text})
	}
	l.Record(Record{Event: EventDenied, Who: evil, Item: evil})
	closed(t, l)
	if lines := witnessLines(t, path); len(lines) != 0 {
		t.Errorf("got %+v", lines)
	}
}

// Witness accepts only lines that verify, whatever a node sends.
func FuzzCheckpoint(f *testing.F) {
	good := checkpointOf("b", 7, nodeKeys("b"))
	f.Add(good.Key, good.Line)
	f.Add(good.Key, good.Line+" ")
	f.Add("", "{}")
	f.Fuzz(func(t *testing.T, key, line string) {
		c := Checkpoint{key, line}
		l, err := c.parse()
		if err != nil {
			return
		}
		chain := newChain(testKeys, "a")
		raw := bytes.TrimSuffix(chain.append(nil, &Record{Event: EventWitness, Time: now, witness: &c}), []byte("\n"))
		quote, err := ParseLine(raw)
		if err != nil || quote.Witness != line || quote.Key != key || bytes.ContainsRune(raw, '\n') || l.N == 0 {
			t.Errorf("%q is quoted as %s", line, raw)
		}
	})
}
