//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// lazyServer is a lazy server whose processes append the name of their node to a file.
const lazyServer = `
metaTools: false
mcpServers:
  clock: {run: each, startup: lazy, command: sh, args: [-c, 'echo "$AT" >>"$0"; exec "$1" demo clock', %q, %q], env: {AT: "${NODE}"}}
`

// A lazy server whose catalog no node knows is started by one node. All nodes list it, also one that joins later without a state file.
// A call starts it on the node that receives the call.
func TestLazyServerStartsOnce(t *testing.T) {
	ledger := filepath.Join(gatetest.ShortDir(t), "starts")
	cluster := start(t, "", fmt.Sprintf(lazyServer, ledger, binary))
	runs := func() string {
		raw, err := os.ReadFile(ledger)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(raw)), " ")
	}
	listed := func(n *gatetest.Node) {
		t.Helper()
		session, _ := connect(t, n.URL, "2025-11-25")
		within(t, patience, "tools of "+n.Name, "true", func() string { return fmt.Sprint(strings.Contains(lists(t, session), "clock_wait")) })
	}
	for _, n := range cluster.Nodes {
		listed(n)
	}
	first := runs()
	if len(first) != 1 {
		t.Errorf("the server was started on %s", first)
	}
	last := cluster.Nodes[2]
	if first == last.Name {
		last = cluster.Nodes[1]
	}
	last.Kill()
	if err := os.RemoveAll(last.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(last.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	last.Start()
	gatetest.WaitReady(t, last.Base)
	listed(last)
	if got := runs(); got != first {
		t.Errorf("after %s joined, the server was started on %s, before on %s", last.Name, got, first)
	}
	session, _ := connect(t, last.URL, "2025-11-25")
	if got := call(t.Context(), session, "clock_wait", map[string]any{"seconds": 0.01}); strings.HasPrefix(got, "error") {
		t.Error(got)
	}
	if got, want := runs(), first+" "+last.Name; got != want {
		t.Errorf("after a call at %s, the server was started on %s, want %s", last.Name, got, want)
	}
}
