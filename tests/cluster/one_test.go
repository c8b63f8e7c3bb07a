//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

// onceServer is the notes server. Each of its processes first appends its token and the name of its node to a file.
const onceServer = `
metaTools: false
mcpServers:
  notes: {run: one, command: sh, args: [-c, 'echo "$GOBLIN_FENCE $AT" >>"$0"; exec "$1" demo notes', %q, %q], env: {AT: "${NODE}"}}
`

// starts returns the tokens and the nodes of the processes that were started so far.
func starts(t *testing.T, path string) (tokens []int, nodes []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		token, node, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(token)
		if err != nil {
			t.Fatalf("line %q", line)
		}
		tokens, nodes = append(tokens, n), append(nodes, node)
	}
	return tokens, nodes
}

// S6.3: a server with run: one has one process in the cluster, and all nodes call it there. When its node is killed, frozen or stopped,
// another node starts the server, with a larger token. A node that was frozen meanwhile has ended its process.
func TestServerRunsOnce(t *testing.T) {
	dir := gatetest.ShortDir(t)
	ledger := filepath.Join(dir, "starts")
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: gatetest.ShortDir(t), Voters: true, Config: fmt.Sprintf(onceServer, ledger, binary)})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(c.Nodes...) })
	one := func(count int) *gatetest.Node {
		t.Helper()
		within(t, gatetest.Patience, "starts of the server", strconv.Itoa(count), func() string { tokens, _ := starts(t, ledger); return strconv.Itoa(len(tokens)) })
		tokens, nodes := starts(t, ledger)
		if !slices.IsSorted(tokens) || tokens[0] == 0 || len(slices.Compact(slices.Clone(tokens))) != count {
			t.Errorf("tokens %v do not rise", tokens)
		}
		return c.Nodes[nodes[count-1][0]-'a']
	}
	others := func(not *gatetest.Node) []*gatetest.Node {
		return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *gatetest.Node) bool { return n == not })
	}
	first := one(1)
	add(t, c.Nodes, "first")
	if here, _ := sumOf(t, "goblin_cluster_lease", first); here != 1 {
		t.Errorf("the node that runs the server has %v leases", here)
	}
	if sum, series := sumOf(t, "goblin_cluster_lease", c.Nodes...); sum != 1 || series != 3 {
		t.Errorf("the nodes have %v leases in %d series", sum, series)
	}

	first.Kill()
	began := time.Now()
	second := one(2)
	add(t, others(first), "second")
	t.Logf("after kill -9 of its node the server works again after %v", time.Since(began))
	first.Start()
	gatetest.WaitReady(t, first.Base)
	add(t, c.Nodes, "third")

	second.Freeze()
	began = time.Now()
	third := one(3)
	add(t, others(second), "fourth")
	t.Logf("after SIGSTOP of its node the server works again after %v", time.Since(began))
	second.Thaw()
	add(t, c.Nodes, "fifth")

	_ = third.Cmd.Process.Signal(os.Interrupt)
	began = time.Now()
	one(4)
	add(t, others(third), "sixth")
	t.Logf("after an orderly stop of its node the server works again after %v", time.Since(began))
	if tokens, nodes := starts(t, ledger); len(tokens) != 4 {
		t.Errorf("the server was started with %v on %v, want 4 starts", tokens, nodes)
	}
}

// add adds a note through each of the nodes, as soon as the server can be called there. All nodes see all notes, because there is one
// process.
func add(t *testing.T, nodes []*gatetest.Node, title string) {
	t.Helper()
	for i, n := range nodes {
		session, _ := connect(t, n.URL, "2025-11-25")
		gatetest.WaitFor(t, "a call of "+title+" through node "+n.Name, func() (bool, string) {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_add_note", Arguments: map[string]any{"title": fmt.Sprintf("%s %d", title, i), "text": "x"}})
			if err != nil {
				return false, err.Error()
			}
			return !r.IsError, fmt.Sprint(r.Content)
		})
	}
	for _, n := range nodes {
		session, _ := connect(t, n.URL, "2025-11-25")
		gatetest.WaitFor(t, "the notes of "+title+" in the list of node "+n.Name, func() (bool, string) {
			all, err := session.ListResources(t.Context(), nil)
			if err != nil {
				return false, err.Error()
			}
			found := 0
			for _, r := range all.Resources {
				if strings.Contains(r.Name+r.Title, title+" ") {
					found++
				}
			}
			return found >= len(nodes), fmt.Sprintf("%d of %d", found, len(nodes))
		})
	}
}
