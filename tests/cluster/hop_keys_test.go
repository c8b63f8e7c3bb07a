//go:build linux

package cluster

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

// keyedHops gives each principal a process of its own on b. A policy hides a tool.
const keyedHops = `
metaTools: false
auth: {keys: "keys-${NODE}.yaml"}
policy:
  roles: {writer: {servers: [notes, clock], tools: {deny: ["*delete_note"]}}}
  bind: [{role: writer, keys: ["*"]}]
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: b, isolation: principal}
  clock: {command: %[1]q, args: [demo, clock], run: b}
`

// withKey sends an API key with each request.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// A principal has one process, on the node that runs the server, whichever nodes it uses. What the policy hides stays hidden. A
// principal whose key the node of the server does not have is refused.
func TestPrincipalsOverHops(t *testing.T) {
	dir := gatetest.ShortDir(t)
	keys := map[string]string{}
	for _, name := range []string{"ann", "bob", "eve"} {
		key, sum := auth.NewKey()
		keys[name] = key
		for _, node := range []string{"a", "b", "c"} {
			if name == "eve" && node == "b" {
				continue
			}
			if err := auth.Add(filepath.Join(dir, "keys-"+node+".yaml"), auth.Key{Name: name, Sum: sum}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(keyedHops, binary)})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			at := func(node int, name string) *mcp.ClientSession {
				client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
				transport := &mcp.StreamableClientTransport{Endpoint: c.Nodes[node].URL, HTTPClient: &http.Client{Transport: withKey{keys[name]}}}
				session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = session.Close() })
				within(t, patience, "tools", "true", func() string {
					tools, err := session.ListTools(t.Context(), nil)
					return fmt.Sprint(err == nil && len(tools.Tools) == 5)
				})
				return session
			}
			title := "secret " + version
			if got := call(t.Context(), at(0, "ann"), "notes_add_note", map[string]any{"title": title, "text": "x"}); strings.HasPrefix(got, "error") {
				t.Fatal(got)
			}
			for node := range c.Nodes {
				if got := call(t.Context(), at(node, "ann"), "notes_search_notes", map[string]any{"query": title}); !strings.Contains(got, "secret") {
					t.Errorf("ann at node %d: %s", node, got)
				}
				if got := call(t.Context(), at(node, "bob"), "notes_search_notes", map[string]any{"query": title}); strings.Contains(got, "secret") {
					t.Errorf("bob at node %d: %s", node, got)
				}
			}
			for tool, arguments := range map[string]map[string]any{"notes_search_notes": {"query": title}, "clock_now": nil} {
				if got := call(t.Context(), at(0, "eve"), tool, arguments); !strings.Contains(got, "copy the key file") {
					t.Errorf("%s of eve, whose key b does not have: %s", tool, got)
				}
			}
			if got := call(t.Context(), at(0, "bob"), "clock_now", nil); strings.HasPrefix(got, "error") {
				t.Error(got)
			}
		})
	}
}
