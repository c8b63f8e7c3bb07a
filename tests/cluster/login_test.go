//go:build linux

package cluster

import (
	"context"
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

	"goblin-actor/internal/authtest"
	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
)

const loginServer = `
metaTools: false
mcpServers:
  safe: {url: %q, auth: {type: oauth}}
  once: {url: %q, run: one, auth: {type: oauth}}
`

// protected starts an MCP server that requires tokens of the issuer.
func protected(t *testing.T, issuer *authtest.Issuer) (url string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "safe", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	return issuer.Protect(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)).URL
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

// echo calls a protected server through a node, and returns "" or why that failed.
func echo(t *testing.T, n *gatetest.Node, server string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: n.URL, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = session.Close() }()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: server + "_echo", Arguments: map[string]any{}})
	switch {
	case err != nil:
		return err.Error()
	case r.IsError:
		return fmt.Sprint(r.Content)
	}
	return ""
}

// works waits until a call of a server succeeds through each of the nodes.
func works(t *testing.T, what, server string, nodes ...*gatetest.Node) {
	t.Helper()
	for _, n := range nodes {
		gatetest.WaitFor(t, what+": a call through node "+n.Name, func() (bool, string) {
			failed := echo(t, n, server)
			return failed == "", failed
		})
	}
}

// ends waits until calls of a server fail through all nodes because a login is missing.
func ends(t *testing.T, server string, nodes []*gatetest.Node) {
	t.Helper()
	for _, n := range nodes {
		gatetest.WaitFor(t, "the end of the login on node "+n.Name, func() (bool, string) {
			why := echo(t, n, server)
			return strings.Contains(why, "log in"), why
		})
	}
}

// startLogins starts three nodes with a server with run: each, and one with run: one. Their authorization server rotates refresh
// tokens, and ends a login if a refresh token is used twice.
func startLogins(t *testing.T) (*authtest.Issuer, *gatetest.Cluster) {
	t.Helper()
	issuer := authtest.New(t, authtest.Faults{Life: 5 * time.Second})
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{
		Binary: binary, Dir: gatetest.ShortDir(t), Voters: true, Config: fmt.Sprintf(loginServer, protected(t, issuer), protected(t, issuer)),
	})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(c.Nodes...) })
	return issuer, c
}

// A login at a server with run: one can be made and ended on any node. Without a majority of the voters, a login is used until its token
// expires, and then calls fail with an error that says what is missing. When the voters are back, it is renewed.
func TestLoginAtServerThatRunsOnce(t *testing.T) {
	issuer, c := startLogins(t)
	for _, n := range c.Nodes {
		command(t, n, "login", "once", "--device")
		works(t, "after a login on "+n.Name, "once", c.Nodes...)
		before := len(issuer.Seen("/revoke"))
		command(t, c.Nodes[(int(n.Name[0]-'a')+1)%3], "logout", "once")
		if told := len(issuer.Seen("/revoke")) - before; told != 1 {
			t.Errorf("the authorization server was told %d times", told)
		}
		ends(t, "once", c.Nodes)
	}

	command(t, c.Nodes[1], "login", "safe", "--device")
	works(t, "after a login", "safe", c.Nodes...)
	c.Nodes[1].Kill()
	c.Nodes[2].Kill()
	gatetest.WaitFor(t, "an error that names the voters", func() (bool, string) {
		why := echo(t, c.Nodes[0], "safe")
		return strings.Contains(why, "voters") && !strings.Contains(why, "log in"), why
	})
	refreshes := issuer.Refreshes()
	time.Sleep(3 * time.Second)
	if n := issuer.Refreshes() - refreshes; n != 0 {
		t.Errorf("%d renewals without a majority of the voters", n)
	}
	c.Nodes[1].Start()
	c.Nodes[2].Start()
	works(t, "after the voters are back", "safe", c.Nodes...)
}

// A login made on one node is the login of all three. While nodes are killed and frozen, its token is renewed every few seconds, and no
// refresh token is used twice. A logout on another node ends it everywhere, and the authorization server is told once.
func TestLoginOnAllNodes(t *testing.T) {
	issuer, c := startLogins(t)
	a, b, d := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	if out := command(t, a, "login", "safe", "--device"); !strings.Contains(out, "logged in to safe") {
		t.Fatalf("login: %s", out)
	}
	works(t, "after a login on a", "safe", a, b, d)

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
			if why := echo(t, a, "safe"); why != "" {
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
		works(t, fmt.Sprintf("after fault %d", i), "safe", a, b, d)
	}
	close(stop)
	running.Wait()
	renewals := issuer.Refreshes() - began
	t.Logf("%d calls, %d renewals, failed: %v", calls, renewals, failed)
	if renewals < 3 {
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
	ends(t, "safe", c.Nodes)
	if n := len(issuer.Seen("/revoke")); n != 1 {
		t.Errorf("the authorization server was told %d times", n)
	}
	command(t, b, "login", "safe", "--device")
	works(t, "after a login on b", "safe", a, b, d)
}

// A login lives through a rotation of the secret, although its token is not renewed meanwhile: a node that starts with an empty disk and
// only the new secret uses it.
func TestLoginAfterRotation(t *testing.T) {
	issuer, dir := authtest.New(t, authtest.Faults{}), gatetest.ShortDir(t)
	server := protected(t, issuer)
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Voters: true, Config: fmt.Sprintf(loginServer, server, server)})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(c.Nodes...) })
	command(t, c.Nodes[0], "login", "safe", "--device")
	works(t, "after a login", "safe", c.Nodes...)
	if err := os.WriteFile(filepath.Join(dir, "new.secret"), []byte(internal.NewSecret()), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "goblin.yaml")
	const older, newer = "- ${file:cluster.secret}", "- ${file:new.secret}"
	for _, step := range [][2]string{{older, older + "\n  " + newer}, {older + "\n  " + newer, newer + "\n  " + older}, {newer + "\n  " + older, newer}} {
		raw, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(raw), step[0]) {
			t.Fatalf("%v: %q is not in %s", err, step[0], raw)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(raw), step[0], step[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // until all nodes have read it
	}
	n := c.Nodes[2]
	n.Kill()
	if err := os.RemoveAll(n.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(n.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n.Start()
	gatetest.WaitReady(t, n.Base)
	works(t, "after the rotation", "safe", c.Nodes...)
	if renewed := issuer.Refreshes(); renewed != 0 {
		t.Errorf("the token was renewed %d times", renewed)
	}
}
