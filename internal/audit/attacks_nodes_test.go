package audit

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// clusterLogs are the closed logs of nodes a, b and c, which have run for some minutes.
type clusterLogs struct {
	*nodes
	older map[string][]byte // each file, as it was after the first minutes
}

// writeCluster writes the logs. Every node records five calls a minute. Between stops all nodes after the first minutes.
func writeCluster(t *testing.T, between func(n *nodes)) *clusterLogs {
	c := &clusterLogs{startNodes(t, "a", "b", "c"), map[string][]byte{}}
	minutes := func() {
		for range 4 {
			for node := range c.logs {
				c.call(node, 5)
			}
			c.minute()
		}
		c.minute()
		c.close()
	}
	minutes()
	for node := range c.logs {
		c.older[node] = c.read(node)
	}
	if between != nil {
		between(c.nodes)
	}
	for node := range c.logs {
		c.start(node)
	}
	minutes()
	return c
}

func (n *nodes) read(node string) []byte {
	raw, err := os.ReadFile(n.path(node))
	if err != nil {
		n.t.Fatal(err)
	}
	return raw
}

func (n *nodes) write(node string, raw []byte) {
	if err := os.WriteFile(n.path(node), raw, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// verify verifies the logs of the nodes with the key of each.
func (n *nodes) verify(change ...func(*NodeLog)) ClusterReport {
	n.t.Helper()
	var logs []NodeLog
	for _, node := range slices.Sorted(maps.Keys(n.logs)) {
		log := NodeLog{Name: node + ".jsonl", Files: Files(n.path(node)), Trust: Trust{Key: nodeKeys(node).Public()}}
		for _, f := range change {
			f(&log)
		}
		logs = append(logs, log)
	}
	r, err := VerifyNodes(logs, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// faultOnly checks that the log with the index has a fault that contains words, and that the others have none.
func faultOnly(t *testing.T, r ClusterReport, index int, words string) {
	t.Helper()
	for i, log := range r.Logs {
		switch {
		case i != index && log.Fault != nil:
			t.Errorf("%s: got the fault %v, want none", log.Name, log.Fault)
		case i == index && (log.Fault == nil || !strings.Contains(log.Fault.What, words)):
			t.Errorf("%s: got the fault %v, want …%s…", log.Name, log.Fault, words)
		}
	}
	if len(r.Missing) > 0 {
		t.Errorf("got missing logs %v", r.Missing)
	}
}

func TestVerifyNodesAcceptsWhatNodesWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := writeCluster(t, nil).verify()
		faultOnly(t, r, -1, "")
		for _, log := range r.Logs {
			if log.Seen == 0 || log.Seen+20 < log.Last || log.Node != log.Name[:1] || log.SeenTime.IsZero() {
				t.Errorf("got %+v, want that the other nodes quote nearly the last line", log)
			}
		}
	})
}

// A node whose audit.file was changed has two logs. Both are needed.
func TestVerifyNodesWithTwoLogsOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := ""
		c := writeCluster(t, func(n *nodes) {
			old = filepath.Join(n.dir, "old.jsonl")
			if err := os.Rename(n.path("b"), old); err != nil {
				t.Fatal(err)
			}
		})
		faultOnly(t, c.verify(), 1, "the log was replaced or rewritten")
		logs := []NodeLog{{Name: "old", Files: []string{old}}}
		for _, node := range []string{"a", "b", "c"} {
			logs = append(logs, NodeLog{Name: node, Files: Files(c.path(node))})
		}
		r, err := VerifyNodes(logs, nil)
		if err != nil {
			t.Fatal(err)
		}
		faultOnly(t, r, -1, "")
		if r.Logs[0].Seen == 0 || r.Logs[2].Seen == 0 {
			t.Errorf("got %+v, want quotes of both logs", r.Logs)
		}
	})
}

// S5.5.2: The end of a node's log is removed up to a checkpoint, and its state file with it. What is left is a valid log.
func TestAttack86NodeTailCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := writeCluster(t, nil)
		lines := bytes.SplitAfter(c.read("b"), []byte("\n"))
		for i := len(lines) / 2; ; i-- {
			if bytes.Contains(lines[i], []byte(`"event":"checkpoint"`)) {
				lines = lines[:i+1]
				break
			}
		}
		c.write("b", bytes.Join(lines, nil))
		r := c.verify()
		faultOnly(t, r, 1, "the end of the log was removed")
		if cut := r.Logs[1]; cut.Unchanged != uint64(len(lines)) || cut.Last != uint64(len(lines)) {
			t.Errorf("got %+v, want %d lines, all of them unchanged", cut, len(lines))
		}
	})
}

// A node's log is replaced by an older copy. The gateway may have continued it since.
func TestAttack86NodeOlderCopy(t *testing.T) {
	t.Run("at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := writeCluster(t, nil)
			c.write("b", c.older["b"])
			faultOnly(t, c.verify(), 1, "replaced by an older copy")
		})
	})
	t.Run("continued since", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var copied []byte
			c := writeCluster(t, func(n *nodes) {
				copied = n.read("b")
				lines := bytes.SplitAfter(copied, []byte("\n"))
				n.write("b", bytes.Join(lines[:len(lines)/2], nil))
			})
			r := c.verify()
			faultOnly(t, r, 1, "the log was replaced or rewritten")
			b := r.Logs[1]
			if b.Unchanged == 0 || !bytes.HasPrefix(copied, bytes.Join(bytes.SplitAfter(c.read("b"), []byte("\n"))[:b.Unchanged], nil)) {
				t.Errorf("got unchanged lines up to n=%d", b.Unchanged)
			}
			if next := b.Fault.N; next <= b.Unchanged || next > b.Last {
				t.Errorf("got a fault at n=%d of %d lines", next, b.Last)
			}
		})
	})
	t.Run("with another key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := writeCluster(t, nil)
			rewritten := newChain(testKeys, "b")
			raw := rewritten.append(nil, &Record{Event: EventFile, Time: now, Count: 1})
			c.write("b", rewritten.append(raw, &Record{Event: EventCheckpoint, Time: now}))
			faultOnly(t, c.verify(func(l *NodeLog) { l.Trust = Trust{} }), 1, "and signed with key")
		})
	})
}

// The files of two nodes change places.
func TestAttack87NodesSwapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := writeCluster(t, nil)
		a, b := c.read("a"), c.read("b")
		c.write("a", b)
		c.write("b", a)
		r := c.verify(func(l *NodeLog) { l.Trust = Trust{Node: l.Name[:1]} })
		for i, words := range []string{`this is the log of node "b", expected that of node "a"`, `this is the log of node "a", expected that of node "b"`} {
			if fault := r.Logs[i].Fault; fault == nil || !strings.Contains(fault.What, words) {
				t.Errorf("got %v, want %s", fault, words)
			}
		}
		if r.Logs[2].Fault != nil {
			t.Error(r.Logs[2].Fault)
		}
	})
}

// The nodes have the same master key, and one is started with the log of another.
func TestAttack87NodeContinuesAnothersLog(t *testing.T) {
	path := writeLog(t, 0, nil)
	b := openNode(t, "b", path, testKeys)
	b.Record(callRecord(1))
	closed(t, b)
	if _, err := Open(settings(path), Options{Keys: found(testKeys), Log: quiet(t), Node: "a"}); err == nil {
		t.Error("node a continues the log of node b")
	}
}

// A node's log has lines of another node, with correct hashes.
func TestAttack87LinesOfAnotherNode(t *testing.T) {
	path := writeLog(t, 0, nil)
	c := newChain(testKeys, "b")
	raw := c.append(nil, &Record{Event: EventFile, Time: now, Count: 1})
	c.node = "a"
	raw = c.append(raw, &Record{Event: EventCheckpoint, Time: now})
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	caught(t, verified(t, path, Trust{}), 2, `the line was written by node "a", but the log belongs to node "b"`)
}

// The line that quotes a node's log is removed, so that this log can be truncated.
func TestAttack85WitnessRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := writeCluster(t, nil)
		lines := bytes.SplitAfter(c.read("a"), []byte("\n"))
		for i := len(lines) - 1; ; i-- {
			if bytes.Contains(lines[i], []byte(`"event":"witness"`)) && bytes.Contains(lines[i], []byte(`\"node\":\"b\"`)) {
				lines = slices.Delete(lines, i, i+1)
				break
			}
		}
		c.write("a", bytes.Join(lines, nil))
		faultOnly(t, c.verify(), 0, "are missing")
	})
}

// A node claims that another node's log had lines that it did not have, to discredit it.
func TestAttack87InventedWitness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := writeCluster(t, nil)
		invented := checkpointOf("b", 1_000_000, nodeKeys("a"))
		invented.Key = KeyText(nodeKeys("b").Public())
		c.start("a")
		if err := c.logs["a"].Witness("b", invented); err == nil {
			t.Error("a node accepts an invented checkpoint")
		}
		c.logs["a"].add(Record{Event: EventWitness, witness: &invented}, nil)
		closed(t, c.logs["a"])
		faultOnly(t, c.verify(), 0, "its signature does not match its key")
	})
}

// All files of a node are deleted.
func TestAttack86NodeLogDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := writeCluster(t, nil)
		delete(c.logs, "b")
		r := c.verify()
		if len(r.Missing) != 1 || !strings.Contains(r.Missing[0].What, "but no file of node b was given") {
			t.Errorf("got %v, want that the log of node b is missing", r.Missing)
		}
	})
}
