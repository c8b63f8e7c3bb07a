package actors

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
)

// Each node writes its name into its own log. Equal calls have equal HMACs on all nodes, although each log has its own
// signing key.
func TestAuditLogsOfNodes(t *testing.T) {
	dir, started := t.TempDir(), 0
	path := func(node int) string { return filepath.Join(dir, fmt.Sprintf("node-%d.jsonl", node)) }
	t.Run("calls", func(t *testing.T) {
		a, b, _ := startCluster(t, echoServers, func(c *config.Config) {
			started++
			c.Audit.File = path(started)
		})
		for _, node := range []*httpHarness{a, b} {
			session := node.open("/mcp")
			node.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a","arguments":{"secret":"hush"}}}`, "Mcp-Session-Id", session)
		}
	})
	var args []string
	keys := map[string]bool{}
	for i, node := range []string{"a", "b"} {
		for _, line := range auditLines(t, path(i+1)) {
			if line.Node != node || line.Run != "" {
				t.Errorf("got node %q and run %q in a line of node %s", line.Node, line.Run, node)
			}
			if line.Event == audit.EventFile {
				keys[line.Key] = true
			}
			if line.Event == audit.EventCall {
				args = append(args, line.Args)
			}
		}
	}
	if len(keys) != 2 || len(args) != 2 || args[0] != args[1] || strings.IndexByte(args[0], '-') != 8 {
		t.Errorf("got %d signing keys and the HMACs %q; want two keys, and twice the same HMAC with the id of its key", len(keys), args)
	}
}
