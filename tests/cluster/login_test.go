//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/gatetest"
)

const loginServer = `
metaTools: false
mcpServers:
  safe: {url: %q, auth: {type: oauth}}
`

// protected starts an authorization server with rotating refresh tokens, which ends a login if a refresh token is used twice, and an
// MCP server that requires its tokens.
func protected(t *testing.T, f authtest.Faults) (*authtest.Issuer, *authtest.Server) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "safe", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	issuer := authtest.New(t, f)
	return issuer, issuer.Protect(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
}

// command runs a command of goblin-actor as a user of the node's host.
func command(t *testing.T, n *gatetest.Node, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, port, _ := strings.Cut(strings.TrimPrefix(n.Base, "http://"), ":")
	cmd := exec.CommandContext(ctx, binary, append(args, "--connect", port)...)
	cmd.Env = gatetest.Environment(n.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v on node %s: %v: %s", args, n.Name, err, out)
	}
	return string(out)
}

// echo calls the protected server through a node, and returns "" or why that failed.
func echo(t *testing.T, n *gatetest.Node) string {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: n.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = session.Close() }()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "safe_echo", Arguments: map[string]any{}})
	switch {
	case err != nil:
		return err.Error()
	case r.IsError:
		return fmt.Sprint(r.Content)
	}
	return ""
}

// works waits until a call succeeds through each of the nodes.
func works(t *testing.T, what string, nodes ...*gatetest.Node) {
	t.Helper()
	for _, n := range nodes {
		gatetest.WaitFor(t, what+": a call through node "+n.Name, func() (bool, string) {
			failed := echo(t, n)
			return failed == "", failed
		})
	}
}

// A login made on one node is the login of all three. While nodes are killed and frozen, its token is renewed every few seconds, and no
// refresh token is used twice. A logout on another node ends it everywhere, and the authorization server is told once.
func TestLoginOnAllNodes(t *testing.T) {
	issuer, server := protected(t, authtest.Faults{Life: 5 * time.Second})
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: gatetest.ShortDir(t), Voters: true, Config: fmt.Sprintf(loginServer, server.URL)})
	a, b, d := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(c.Nodes...) })
	if out := command(t, a, "login", "safe", "--device"); !strings.Contains(out, "logged in to safe") {
		t.Fatalf("login: %s", out)
	}
	works(t, "after a login on a", a, b, d)

	began := issuer.Refreshes()
	var running sync.WaitGroup
	stop := make(chan struct{})
	failed := map[string]int{}
	calls := 0
	running.Go(func() { // through the node that is never killed or frozen
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			calls++
			if why := echo(t, a); why != "" {
				failed[why]++
			}
		}
	})
	for i := range 4 {
		n := []*gatetest.Node{b, d}[i%2]
		if i < 2 {
			n.Freeze()
			time.Sleep(8 * time.Second)
			n.Thaw()
		} else {
			n.Kill()
			time.Sleep(3 * time.Second)
			n.Start()
			gatetest.WaitReady(t, n.Base)
		}
		works(t, fmt.Sprintf("after fault %d", i), a, b, d)
	}
	close(stop)
	running.Wait()
	renewals := issuer.Refreshes() - began
	t.Logf("%d calls, %d renewals, failed: %v", calls, renewals, failed)
	if renewals < 5 {
		t.Errorf("%d renewals", renewals)
	}
	used := map[string]int{}
	for _, r := range issuer.Seen("/token") {
		if token := r.Form.Get("refresh_token"); token != "" {
			if used[token]++; used[token] == 2 {
				t.Errorf("a refresh token was used twice")
			}
		}
	}

	if out := command(t, d, "logout", "safe"); !strings.Contains(out, "logged out of safe") {
		t.Errorf("logout: %s", out)
	}
	for _, n := range c.Nodes {
		gatetest.WaitFor(t, "the end of the login on node "+n.Name, func() (bool, string) {
			why := echo(t, n)
			return why != "", why
		})
	}
	if n := len(issuer.Seen("/revoke")); n != 1 {
		t.Errorf("the authorization server was told %d times", n)
	}
	command(t, b, "login", "safe", "--device")
	works(t, "after a login on b", a, b, d)
}
