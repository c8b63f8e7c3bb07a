//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

// The commands of operators reach every node through any other: its status, logs and calls, and actions.
func TestOperateAllNodes(t *testing.T) {
	cluster := start(t, "", fmt.Sprintf(servers, binary, binary)+`audit: {file: "audit-${NODE}.jsonl"}`)
	a, b, c := cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(a, b, c) })
	run := func(arguments ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), gatetest.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, arguments...)
		cmd.Env = gatetest.Environment(a.Dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	raw, err := run("status", "-o", "json")
	var all struct {
		Cluster []struct {
			Name           string
			Self           bool
			Servers, Ready int
			Fault          string
		}
	}
	if err != nil || json.Unmarshal([]byte(raw), &all) != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	var names []string
	for _, n := range all.Cluster {
		names = append(names, n.Name)
		if n.Fault != "" || n.Servers != 2 || n.Self != (n.Name == "a") {
			t.Errorf("node %+v", n)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("nodes %v", names)
	}
	for _, arguments := range [][]string{{"status", "--node", "b"}, {"logs", "--node", "b"}, {"calls", "--node", "b"}, {"health", "--node", "b"}, {"restart", "notes", "--node", "b"}} {
		if out, err := run(arguments...); err != nil {
			t.Errorf("%v: %v: %s", arguments, err, out)
		}
	}
	for _, n := range cluster.Nodes {
		session, _ := connect(t, n.URL, "2025-11-25")
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_add_note", Arguments: map[string]any{"title": "of " + n.Name, "text": "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	gatetest.WaitFor(t, "the calls in the audit logs of all nodes", func() (bool, string) {
		out, err := run("audit", "tail", "--nodes", "--tool", "add_note", "-o", "json")
		var nodes []string
		for line := range strings.Lines(out) {
			var l struct{ Node string }
			_ = json.Unmarshal([]byte(line), &l)
			nodes = append(nodes, l.Node)
		}
		return err == nil && slices.Equal(nodes, []string{"a", "b", "c"}), fmt.Sprint(err, " ", out)
	})
	if out, err := run("status", "--node", "b"); err != nil || !strings.Contains(out, b.Host) {
		t.Errorf("the status of b: %v: %s", err, out)
	}
	if out, err := run("status", "--node", "x"); err == nil || !strings.Contains(out, "a, b, c") {
		t.Errorf("the status of a node that does not exist: %v: %s", err, out)
	}
	if out, err := run("drain", "--node", "c"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	within(t, gatetest.Patience, "drain", "2 2", func() string { return members(a, b) })
	if out, err := run("status"); err != nil || !strings.Contains(out, "a (this)") {
		t.Errorf("%v: %s", err, out)
	} else {
		t.Logf("\n%s", out)
	}
}
