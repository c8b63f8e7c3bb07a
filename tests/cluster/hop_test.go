//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

// hopServers run on b. The other nodes pass calls on to it, in the era of each server.
const hopServers = `
metaTools: false
audit: {file: "audit-${NODE}.jsonl"}
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: b}
  oracle: {command: %[1]q, args: [demo, oracle], run: b, protocol: modern}
  seer: {command: %[1]q, args: [demo, oracle], run: b}
  clock: {command: %[1]q, args: [demo, clock], run: b}
`

// patience limits how long a test waits for something.
const patience = 20 * time.Second

// lists returns everything that a client is shown, as JSON.
func lists(t *testing.T, s *mcp.ClientSession) string {
	t.Helper()
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := s.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal([]any{tools.Tools, resources.Resources, templates.ResourceTemplates, prompts.Prompts})
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// call calls a tool and returns its text, or the error.
func call(ctx context.Context, s *mcp.ClientSession, tool string, arguments map[string]any) string {
	p := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	p.SetProgressToken("p")
	r, err := s.CallTool(ctx, p)
	if err != nil {
		return "error: " + err.Error()
	}
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return "no text"
}

// startHops starts a cluster whose servers run on b, and waits until all nodes list them.
func startHops(t *testing.T) *gatetest.Cluster {
	t.Helper()
	c := start(t, "", fmt.Sprintf(hopServers, binary))
	for _, n := range c.Nodes {
		within(t, patience, "servers of "+n.Name, "4", func() string { return readyServers(n) })
	}
	return c
}

// readyServers returns how many servers are ready at a node.
func readyServers(n *gatetest.Node) string {
	_, page := gatetest.Get(n.Base + "/metrics")
	ready := 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "goblin_backend_up{") && strings.HasSuffix(strings.TrimSpace(line), " 1") {
			ready++
		}
	}
	return fmt.Sprint(ready)
}

// S6.3: a server with `run: b` is the same on all nodes, for clients of both eras: lists, calls, progress, questions, cancellation and
// subscriptions.
func TestServersOfAnotherNode(t *testing.T) {
	c := startHops(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			b, _ := connect(t, c.Nodes[1].URL, version)
			for _, n := range c.Nodes {
				session, h := connect(t, n.URL, version)
				within(t, patience, "lists at "+n.Name, lists(t, b), func() string { return lists(t, session) }) // after the last change
				useHops(t, n.Name, session, h)
			}
		})
	}
	auditedOnce(t, c)
}

func useHops(t *testing.T, node string, session *mcp.ClientSession, h *heard) {
	t.Helper()
	text := "x" + node + time.Now().String()
	if got := call(t.Context(), session, "notes_add_note", map[string]any{"title": text, "text": "x"}); strings.Contains(got, "error") {
		t.Errorf("%s: add_note: %s", node, got)
	}
	for _, tool := range []string{"oracle_consult", "seer_consult"} {
		if got := call(t.Context(), session, tool, nil); strings.Contains(got, "error") {
			t.Errorf("%s: %s: %s", node, tool, got)
		}
		select {
		case <-h.questions:
		default:
			t.Errorf("%s: %s asked nothing", node, tool)
		}
	}
	if got := call(t.Context(), session, "clock_wait", map[string]any{"seconds": 0.3}); strings.Contains(got, "error") {
		t.Errorf("%s: wait: %s", node, got)
	}
	if len(h.progress) == 0 {
		t.Errorf("%s: no progress", node)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if got := call(ctx, session, "clock_wait", map[string]any{"seconds": 20}); !strings.Contains(got, "canceled") {
		t.Errorf("%s: a canceled call: %s", node, got)
	}
	cancel()
	const uri = "resource://notes/note:///welcome"
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatalf("%s: subscribe: %v", node, err)
	}
	if got := call(t.Context(), session, "notes_edit_note", map[string]any{"slug": "welcome", "text": text}); strings.Contains(got, "error") {
		t.Errorf("%s: edit_note: %s", node, got)
	}
	select {
	case <-h.updated:
	case <-time.After(patience):
		t.Errorf("%s: no update of a resource", node)
	}
	r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || !strings.Contains(r.Contents[0].Text, text) {
		t.Errorf("%s: read: %v, %v", node, r, err)
	}
}

// auditedOnce checks that each call is in one audit log, and that the lines of a and c name the node that ran the server.
func auditedOnce(t *testing.T, c *gatetest.Cluster) {
	t.Helper()
	counts := map[string]int{}
	for _, n := range c.Nodes {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(n.Dir), "audit-"+n.Name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var r struct{ Event, Item, Method, Run string }
			if json.Unmarshal([]byte(line), &r) != nil || r.Event != "call" || r.Item != "add_note" {
				continue
			}
			counts[n.Name]++
			if want := map[bool]string{true: "", false: "b"}[n.Name == "b"]; r.Run != want {
				t.Errorf("node %s: run is %q, want %q: %s", n.Name, r.Run, want, line)
			}
		}
	}
	if got := []int{counts["a"], counts["b"], counts["c"]}; !slices.Equal(got, []int{2, 2, 2}) {
		t.Errorf("calls of add_note in the audit logs of a, b and c: %v, want 2 each", got)
	}
}

// While the node of a server is gone, its calls are refused on the other nodes. When it is back, they work again.
func TestNodeOfServerComesBack(t *testing.T) {
	c := startHops(t)
	a, b := c.Nodes[0], c.Nodes[1]
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, _ := connect(t, a.URL, version)
		tell := func(tool string) func() string {
			return func() string {
				switch got := call(t.Context(), session, tool, nil); {
				case strings.Contains(got, "node b"):
					return "refused"
				case strings.HasPrefix(got, "error"):
					return got
				}
				return "ok"
			}
		}
		b.Kill()
		for _, tool := range []string{"notes_search_notes", "oracle_consult"} {
			t.Logf("%s: %s is refused after %v", version, tool, within(t, patience, tool, "refused", tell(tool)))
		}
		t.Logf("%s: %s", version, call(t.Context(), session, "notes_search_notes", nil))
		b.Start()
		gatetest.WaitReady(t, b.Base)
		for _, tool := range []string{"notes_search_notes", "oracle_consult"} {
			t.Logf("%s: %s works %v after b was ready", version, tool, within(t, patience, tool, "ok", tell(tool)))
		}
	}
}
