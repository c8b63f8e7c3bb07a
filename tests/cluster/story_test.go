//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/auth"
	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
)

const storyConfig = `
auth: {keys: keys.yaml}
audit: {file: "audit-${NODE}.jsonl"}
metaTools: false
mcpServers:
  notes: {command: %q, args: [demo, notes], run: each}
`

// keyed adds a key to all requests.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// caller calls a tool again and again, with a different text each time.
type caller struct {
	era     string
	session *mcp.ClientSession

	mu     sync.Mutex
	done   int
	failed []string
	stop   context.CancelFunc
	ended  chan struct{}
}

func startCaller(t *testing.T, url, key, era string) *caller {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: keyed(key)}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &caller{era: era, session: session, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for i := 0; ctx.Err() == nil; i++ {
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "notes_edit_note", Arguments: map[string]any{"slug": "welcome", "text": fmt.Sprintf("%s %p %d", era, c, i)}})
			c.note(ctx, r, err)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return c
}

func (c *caller) note(ctx context.Context, r *mcp.CallToolResult, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.failed = append(c.failed, err.Error())
	case r.IsError:
		raw, _ := json.Marshal(r.Content) // cannot fail
		c.failed = append(c.failed, string(raw))
	default:
		c.done++
	}
}

// end stops the caller and ends its session.
func (c *caller) end() {
	c.stop()
	<-c.ended
	_ = c.session.Close()
}

// since returns how many calls succeeded, and which failed, since the last time.
func (c *caller) since() (done int, failed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, failed = c.done, c.failed
	c.done, c.failed = 0, nil
	return done, failed
}

// counted returns how many members each of the nodes sees, as members does. It asks the admin sockets, which need no key.
func counted(t *testing.T, nodes ...*gatetest.Node) string {
	t.Helper()
	var all []string
	for _, n := range nodes {
		count := 0
		if s, err := gatetest.Snapshot(t.Context(), n.Dir); err == nil {
			for i := range s.Nodes {
				if s.Nodes[i].IsMember() {
					count++
				}
			}
		}
		all = append(all, fmt.Sprint(count))
	}
	return strings.Join(all, " ")
}

// A client of each era calls tools through the balancer all the time, while its nodes are killed, replaced and stopped for a while, and
// while the secret is replaced. Only calls that were open on the killed node may fail. When its key is revoked, all nodes refuse it. The
// audit logs of all nodes show no call twice, and prove each other.
func TestStory(t *testing.T) {
	gatetest.NeedBalancer(t, gatetest.Haproxy)
	dir := gatetest.ShortDir(t)
	keys := filepath.Join(dir, "keys.yaml")
	key, sum := auth.NewKey()
	if err := auth.Add(keys, auth.Key{Name: "ci", Sum: sum}); err != nil {
		t.Fatal(err)
	}
	cluster := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Balancer: gatetest.Haproxy, Config: fmt.Sprintf(storyConfig, binary)})
	a, b, c := cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]
	all := func(want string) {
		t.Helper()
		within(t, gatetest.Patience, "members", want, func() string { return counted(t, cluster.Nodes...) })
	}
	all("3 3 3")
	callers := []*caller{startCaller(t, cluster.URL, key, "2025-11-25"), startCaller(t, cluster.URL, key, "2026-07-28")}
	defer func() {
		for _, c := range callers {
			c.end()
		}
	}()
	phase := func(what string, mayFail int) {
		t.Helper()
		time.Sleep(time.Second)
		for _, c := range callers {
			done, failed := c.since()
			t.Logf("%s, %s: %d calls, failed %q", what, c.era, done, failed)
			if done == 0 || len(failed) > mayFail {
				t.Errorf("%s, %s: %d calls, failed %q; at most %d may fail", what, c.era, done, failed, mayFail)
			}
		}
	}
	phase("at rest", 0)

	a.Kill()
	time.Sleep(balancerTime)
	phase("a is killed", 12) // the open call, and what the balancer sends before it notices
	a.Start()
	gatetest.WaitReady(t, a.Base)
	all("3 3 3")
	phase("a is back", 0)

	_ = b.Cmd.Process.Signal(os.Interrupt)
	<-b.Exited
	phase("b is stopped", 0)
	b.Start()
	gatetest.WaitReady(t, b.Base)
	all("3 3 3")
	phase("b is back", 0)

	c.Freeze()
	time.Sleep(8 * time.Second)
	c.Thaw()
	all("3 3 3")
	phase("c stood still for 8 s", 0)

	file := filepath.Join(dir, "goblin.yaml")
	secrets := func(old, with string) {
		t.Helper()
		raw, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(raw), old) {
			t.Fatalf("%v: %q is not in %s", err, old, raw)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(raw), old, with, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // until all nodes have read it
	}
	if err := os.WriteFile(filepath.Join(dir, "new.secret"), []byte(internal.NewSecret()), 0o600); err != nil {
		t.Fatal(err)
	}
	const older, newer = "- ${file:cluster.secret}", "- ${file:new.secret}"
	secrets(older, older+"\n  "+newer)
	phase("the new secret is second", 0)
	secrets(older+"\n  "+newer, newer+"\n  "+older)
	phase("the new secret is first", 0)
	for i, c := range callers { // their sessions end with the secret that has sealed them
		c.end()
		callers[i] = startCaller(t, cluster.URL, key, c.era)
	}
	secrets(newer+"\n  "+older, newer)
	phase("the old secret is gone", 0)

	if err := auth.Revoke(keys, "ci"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	for _, c := range callers {
		c.since()
	}
	time.Sleep(time.Second)
	for _, c := range callers {
		if done, failed := c.since(); done > 0 || len(failed) == 0 {
			t.Errorf("a second after the revocation, %s: %d calls, failed %q", c.era, done, failed)
		}
	}
	checkAudit(t, a, dir)
}

// checkAudit prints what the audit logs of all nodes say, and checks that no call is there twice and that the logs are complete.
func checkAudit(t *testing.T, node *gatetest.Node, dir string) {
	t.Helper()
	run := func(arguments ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, arguments...)
		cmd.Dir, cmd.Env = dir, gatetest.Environment(node.Dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", arguments, err, out)
		}
		return string(out)
	}
	calls, seen := 0, map[string]bool{}
	for line := range strings.Lines(run("audit", "tail", "--nodes", "--tool", "edit_note", "-n", "9999", "-o", "json")) {
		var l struct{ Event, Args, Outcome string }
		if json.Unmarshal([]byte(line), &l) != nil || l.Event != "call" {
			continue
		}
		if calls++; l.Args == "" || seen[l.Args] {
			t.Errorf("a call without arguments, or twice in the logs: %s", line)
		}
		seen[l.Args] = true
	}
	if calls < 100 {
		t.Errorf("the logs have only %d calls", calls)
	}
	t.Logf("%d calls, none twice\n%s", calls, run("audit", "verify", "audit-a.jsonl", "audit-b.jsonl", "audit-c.jsonl"))
}
