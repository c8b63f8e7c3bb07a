//go:build linux

package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// groupServers is a group whose members run on a and on b.
const groupServers = `
metaTools: false
audit: {file: "audit-${NODE}.jsonl"}
mcpServers:
  first: {command: %[1]q, args: [demo, notes], run: a, group: notes}
  second: {command: %[1]q, args: [demo, notes], run: b, replicas: 2, protocol: modern, group: notes}
`

// The members of a group run on different nodes. Every node lists the group and calls both members. While the node of one member is
// gone, the other member serves all calls. Each call is in one audit log, which names the node that ran it. Clients do not see the members.
func TestGroupOfTwoNodes(t *testing.T) {
	c := start(t, "", fmt.Sprintf(groupServers, binary))
	b := c.Nodes[1]
	calls := 0
	for _, n := range c.Nodes {
		reaches(t, n, "a b")
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			session, _ := connect(t, n.URL, version)
			for range 4 {
				calls++
				title := map[string]any{"title": fmt.Sprintf("Note %d", calls), "text": "x"}
				if got := call(t.Context(), session, "notes_add_note", title); strings.Contains(got, "error") {
					t.Errorf("%s, node %s: %s", version, n.Name, got)
				}
			}
		}
		hidesMembers(t, n)
		namesReplicas(t, n)
	}
	calls += 3 * 2 * 3 // of namesReplicas
	gatetest.WaitFor(t, "each call in one audit log", func() (bool, string) {
		runs := slices.Concat(runsOf(t, c.Nodes[0], "add_note"), runsOf(t, b, "add_note"), runsOf(t, c.Nodes[2], "add_note"))
		slices.Sort(runs)
		return len(runs) == calls && strings.Join(slices.Compact(runs), " ") == "a b", fmt.Sprint(calls, " calls ran on ", runs)
	})

	b.Kill()
	for _, n := range []*gatetest.Node{c.Nodes[0], c.Nodes[2]} {
		session, _ := connect(t, n.URL, "2025-11-25")
		within(t, patience, "calls at "+n.Name+" without b", "ok", func() string {
			for range 6 {
				if got := call(t.Context(), session, "notes_search_notes", nil); strings.HasPrefix(got, "error") {
					return got
				}
			}
			return "ok"
		})
	}
	b.Start()
	gatetest.WaitReady(t, b.Base)
	for _, n := range c.Nodes {
		reaches(t, n, "a b")
	}
}

// namesReplicas checks that a client of a node can call a certain replica: the first runs on a, the others on b. Each has notes of its own.
func namesReplicas(t *testing.T, n *gatetest.Node) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, _ := connect(t, n.URL, version)
		for to := range 3 {
			title := fmt.Sprintf("Replica %d of %s for %s", to, n.Name, version)
			if got := call(t.Context(), session, fmt.Sprintf("notes:add_note@%d", to), map[string]any{"title": title, "text": "x"}); strings.Contains(got, "error") {
				t.Errorf("%s: %s", title, got)
			}
			for at := range 3 {
				got := call(t.Context(), session, fmt.Sprintf("notes:search_notes@%d", at), map[string]any{"query": title})
				if strings.Contains(got, title) != (at == to) {
					t.Errorf("%s: replica %d has %s", title, at, got)
				}
			}
		}
		if got := call(t.Context(), session, "notes:add_note@3", nil); !strings.Contains(got, "add_note@3") {
			t.Errorf("node %s: a replica that does not exist: %s", n.Name, got)
		}
	}
}

// reaches waits until the newest calls at a node ran on these nodes.
func reaches(t *testing.T, n *gatetest.Node, want string) {
	t.Helper()
	session, _ := connect(t, n.URL, "2025-11-25")
	within(t, patience, "nodes that run the calls of "+n.Name, want, func() string {
		before := len(runsOf(t, n, "search_notes"))
		for range 4 {
			if got := call(t.Context(), session, "notes_search_notes", nil); strings.HasPrefix(got, "error") {
				return got
			}
		}
		runs := runsOf(t, n, "search_notes")[before:]
		slices.Sort(runs)
		return strings.Join(slices.Compact(runs), " ")
	})
}

// runsOf returns the nodes that ran the calls of a tool, according to the audit log of a node.
func runsOf(t *testing.T, n *gatetest.Node, tool string) (runs []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(n.Dir), "audit-"+n.Name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var r struct{ Event, Item, Run string }
		if json.Unmarshal([]byte(line), &r) == nil && r.Event == "call" && r.Item == tool {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

// hidesMembers checks that a node answers a request for a member like one for a server that does not exist.
func hidesMembers(t *testing.T, n *gatetest.Node) {
	t.Helper()
	answer := func(server string) string {
		const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Base+"/s/"+server+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(response.StatusCode, " ", strings.ReplaceAll(string(text), server, "x"))
	}
	for _, member := range []string{"first", "second"} {
		if got, want := answer(member), answer("absent"); got != want {
			t.Errorf("node %s, member %s: %s, want %s", n.Name, member, got, want)
		}
	}
}
