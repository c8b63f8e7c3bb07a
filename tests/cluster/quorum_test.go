//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

var quorumTime = flag.Duration("quorum-time", 0, "how long TestQuorum separates all voters; 0 = skip it. See make cluster-quorum")

// livingServer is the notes server. While a process of it runs, it appends the time in milliseconds, its token and the name of its node to a
// file, ten times a second.
const livingServer = `
metaTools: false
mcpServers:
  notes: {run: one, command: sh, args: [-c, '(while kill -0 $$$$; do echo "$(date +%%s%%3N) $GOBLIN_FENCE $AT"; sleep 0.1; done) </dev/null >>"$0" 2>/dev/null & exec "$1" demo notes', %q, %q], env: {AT: "${NODE}"}}
`

// life is a line of the server's file.
type life struct {
	at    time.Time
	token int
	node  string
}

func lives(t *testing.T, path string) (all []life) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		at, err := strconv.ParseInt(f[0], 10, 64)
		token, err2 := strconv.Atoi(f[1])
		if err != nil || err2 != nil {
			t.Fatalf("line %q", line)
		}
		all = append(all, life{time.UnixMilli(at), token, f[2]})
	}
	return all
}

// alive waits until a process of the server with a token of at least from runs, and returns its token and node.
func alive(t *testing.T, path string, from int) (token int, node string) {
	t.Helper()
	gatetest.WaitFor(t, fmt.Sprintf("a process with a token of at least %d", from), func() (bool, string) {
		all := lives(t, path)
		if len(all) == 0 {
			return false, "none so far"
		}
		last := all[len(all)-1]
		token, node = last.token, last.node
		return token >= from && time.Since(last.at) < time.Second, fmt.Sprint(last)
	})
	return token, node
}

// S6.4: while no majority of the voters can agree, a server with run: one is stopped in time, and it is started again afterwards. It also starts
// again after all voters were restarted at once, and after the disk of a voter was emptied. Its tokens never fall, and no two processes run at a
// time.
func TestQuorum(t *testing.T) {
	if *quorumTime == 0 {
		t.Skip("takes minutes; see make cluster-quorum")
	}
	ledger := filepath.Join(gatetest.ShortDir(t), "lives")
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: gatetest.ShortDir(t), Voters: true, Network: true, Config: fmt.Sprintf(livingServer, ledger, binary)})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(c.Nodes...) })
	token, _ := alive(t, ledger, 1)
	add(t, c.Nodes, "first")

	began := time.Now()
	for i, n := range c.Nodes {
		c.CutBoth(n, c.Nodes[(i+1)%3])
	}
	time.Sleep(*quorumTime)
	stopped := lives(t, ledger)
	last := stopped[len(stopped)-1]
	if took := last.at.Sub(began); took > 13*time.Second {
		t.Errorf("the server was stopped %v after the voters were separated", took)
	} else {
		t.Logf("the server was stopped after %v", took)
	}
	began = time.Now()
	c.Heal()
	token, _ = alive(t, ledger, token+1)
	t.Logf("the server runs again %v after the voters can reach each other", time.Since(began))
	add(t, c.Nodes, "second")

	began = time.Now()
	for _, n := range c.Nodes {
		n.Kill()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	token, _ = alive(t, ledger, token+1)
	t.Logf("the server runs again %v after all voters were restarted", time.Since(began))
	add(t, c.Nodes, "third")

	for i := range c.Nodes { // each voter loses its disk, and then the node with the server is killed, so that the others must know the token
		empty(t, c.Nodes[i])
		gatetest.WaitReady(t, c.Nodes[i].Base)
		within(t, gatetest.Patience, "members", "3 3 3", func() string { return members(c.Nodes...) })
		add(t, c.Nodes, fmt.Sprintf("emptied %d", i))
		var node string
		token, node = alive(t, ledger, token)
		holder := c.Nodes[node[0]-'a']
		began = time.Now()
		holder.Kill()
		token, node = alive(t, ledger, token+1)
		t.Logf("after the disk of %s was emptied and %s was killed, the server runs on %s after %v", c.Nodes[i].Name, holder.Name, node, time.Since(began))
		holder.Start()
		gatetest.WaitReady(t, holder.Base)
		within(t, gatetest.Patience, "members", "3 3 3", func() string { return members(c.Nodes...) })
	}
	checkLives(t, lives(t, ledger))
}

// empty kills a node, removes its files, and starts it again.
func empty(t *testing.T, n *gatetest.Node) {
	t.Helper()
	n.Kill()
	if err := os.RemoveAll(n.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(n.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.Start()
}

// checkLives checks that tokens never fall, and that a token has one node. A process whose node was killed may write one more line.
func checkLives(t *testing.T, all []life) {
	t.Helper()
	nodes, highest := map[int]string{}, life{}
	for _, l := range all {
		if l.token < highest.token && l.at.Sub(highest.at) > 0 {
			t.Errorf("%v after %v", l, highest)
		}
		if was, known := nodes[l.token]; known && was != l.node {
			t.Errorf("token %d was used on %s and %s", l.token, was, l.node)
		}
		if nodes[l.token] = l.node; l.token > highest.token {
			highest = l
		}
	}
	t.Logf("%d processes: %v", len(nodes), nodes)
}
