//go:build linux

package cluster

import (
	"context"
	littleendian "encoding/binary"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

// keyedHops gives each principal a process of its own: of notes on b, of diary on any node. A policy hides a tool.
const keyedHops = `
metaTools: false
auth: {keys: "keys-${NODE}.yaml"}
policy:
  roles: {writer: {servers: [notes, diary, clock], tools: {deny: ["*delete_note"]}}}
  bind: [{role: writer, keys: ["*"]}]
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: b, isolation: principal}
  diary: {command: %[1]q, args: [demo, notes], run: each, isolation: principal}
  clock: {command: %[1]q, args: [demo, clock], run: b}
`

// withKey sends an API key with each request.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// A principal has one process, on the node that runs the server or on the one that all nodes agree on, whichever nodes it uses. What the policy hides stays hidden. A
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
					return fmt.Sprint(err == nil && len(tools.Tools) == 8)
				})
				return session
			}
			title := "secret " + version
			for _, server := range []string{"notes", "diary"} {
				if got := call(t.Context(), at(0, "ann"), server+"_add_note", map[string]any{"title": title, "text": "x"}); strings.HasPrefix(got, "error") {
					t.Fatal(got)
				}
				for node := range c.Nodes {
					if got := call(t.Context(), at(node, "ann"), server+"_search_notes", map[string]any{"query": title}); !strings.Contains(got, "secret") {
						t.Errorf("%s: ann at node %d: %s", server, node, got)
					}
					if got := call(t.Context(), at(node, "bob"), server+"_search_notes", map[string]any{"query": title}); strings.Contains(got, "secret") {
						t.Errorf("%s: bob at node %d: %s", server, node, got)
					}
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

// keyNumber returns the number of a key in its holder.
func keyNumber(sum auth.Sum) uint64 { return littleendian.LittleEndian.Uint64(sum[:8]) }

// When the node that has a principal's process is gone, another node starts one, and subscribers hear that resources may have
// changed.
func TestPrincipalMovesToAnotherNode(t *testing.T) {
	dir := gatetest.ShortDir(t)
	var keys []string
	for i := range 8 {
		key, sum := auth.NewKey()
		keys = append(keys, key)
		for _, node := range []string{"a", "b", "c"} {
			if err := auth.Add(filepath.Join(dir, "keys-"+node+".yaml"), auth.Key{Name: fmt.Sprintf("user%d", i), Sum: sum}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(keyedHops, binary)})
	for _, n := range c.Nodes { // otherwise processes move while nodes join
		within(t, patience, "members at "+n.Name, "true", func() string { return fmt.Sprint(strings.Count(n.Log.String(), "has joined the cluster") >= 2) })
	}
	const uri = "resource://diary/note:///welcome"
	var sessions []*mcp.ClientSession
	var updates []chan string
	for i, key := range keys {
		updated := make(chan string, 64)
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		transport := &mcp.StreamableClientTransport{Endpoint: c.Nodes[0].URL, HTTPClient: &http.Client{Transport: withKey{key}}}
		session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: []string{"2025-11-25", "2026-07-28"}[i%2]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		within(t, patience, "tools", "true", func() string {
			tools, err := session.ListTools(t.Context(), nil)
			return fmt.Sprint(err == nil && len(tools.Tools) == 8)
		})
		if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		if got := call(t.Context(), session, "diary_add_note", map[string]any{"title": "mine", "text": "x"}); strings.HasPrefix(got, "error") {
			t.Fatal(got)
		}
		sessions, updates = append(sessions, session), append(updates, updated)
	}
	c.Nodes[1].Kill()
	moved := 0
	for i, session := range sessions {
		got := ""
		within(t, patience, "a call after b is gone", "true", func() string {
			got = call(t.Context(), session, "diary_search_notes", map[string]any{"query": "mine"})
			return fmt.Sprint(!strings.HasPrefix(got, "error"))
		})
		if strings.Contains(got, "mine") {
			continue
		}
		moved++
		select {
		case <-updates[i]:
		case <-time.After(patience):
			t.Errorf("user%d was not told that the resource may have changed", i)
		}
	}
	t.Logf("%d of %d users had their process on the node that is gone", moved, len(keys))
}
