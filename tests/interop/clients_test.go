package interop

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"goblin-actor/internal/gatetest"
)

// TestConversations makes clients of three SDKs, over HTTP and stdio, hold the whole conversation with
// server-everything through the gateway, once over stdio and once over Streamable HTTP. S0.1.1 S0.4.1
// S0.5.1 S0.5.3 S0.5.4 S0.6.1 S0.9.1 S1.49 S1.69 S2.5.1 S2.5.2 S3.1.2 S3.2.1 S3.2.2 S3.3.2 S4.1.1 S4.4.1 S4.5.1
func TestConversations(t *testing.T) {
	servers := map[string]any{
		"local": npmServer(t, "server-everything"),
		// server-everything stores its tools' results per session, so all clients must share a session, in a cluster that of node a.
		"web": map[string]any{"url": everythingHTTP(t), "type": "http", "isolation": "shared", "run": "a"},
	}
	g := serve(t, servers)
	typescript := startDriver(t, "v1")
	for _, prefix := range []string{"local", "web"} {
		for name, where := range map[string]map[string]any{
			"http":  {"via": "http", "url": g.url},
			"stdio": {"via": "stdio", "command": binary, "args": []string{"stdio", "--config", writeConfig(t, t.TempDir(), servers)}},
		} {
			t.Run("typescript over "+name+", "+prefix, func(t *testing.T) {
				p, err := dialNode(t.Context(), typescript, where, manner{})
				hold(t, p, err, prefix, "typescript-"+name)
			})
		}
		for name, dial := range map[string]func(context.Context, target, manner) (peer, error){"go-sdk": goSDKOverHTTP, "mcp-go": mcpGoOverHTTP} {
			t.Run(name+" over http, "+prefix, func(t *testing.T) {
				p, err := dial(t.Context(), target{url: g.url}, manner{version: legacyVersion})
				hold(t, p, err, prefix, name+"-http")
			})
		}
		for name, dial := range map[string]func(context.Context, *exec.Cmd, manner) (peer, error){"go-sdk": goSDKOverStdio, "mcp-go": mcpGoOverStdio} {
			t.Run(name+" over stdio, "+prefix, func(t *testing.T) {
				p, err := dial(t.Context(), stdio(t, servers), manner{version: legacyVersion})
				hold(t, p, err, prefix, name+"-stdio")
			})
		}
	}
	waitFor(t, "no call in flight: canceled calls must end at the server too", func() (bool, string) {
		return noneInFlight(t, g)
	})
}

// stdio returns a command that runs a gateway on stdio.
func stdio(t *testing.T, servers map[string]any) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(binary, "stdio", "--config", writeConfig(t, dir, servers))
	cmd.Env, cmd.Stderr = environment(dir), os.Stderr
	return cmd
}

// hold holds the conversation, checks its transcript and closes p. It fails the test if err is not nil.
func hold(t *testing.T, p peer, err error, prefix, name string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), talkTime)
	defer cancel()
	// Over stdio, the gateway has just started, and it lets its client wait only five seconds for servers.
	if err := eventually(ctx, listed(p, prefix+"_echo")); err != nil {
		t.Fatal(err)
	}
	s, err := converse(ctx, p, prefix, name)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, prefix)
}

// Clients of three SDKs hold the whole conversation with server-everything through three nodes, behind nginx, which keeps its connections
// to the nodes, and behind haproxy, which opens a new one for each request. With -balancer, all tests of this package do so.
func TestConversationsOverNodes(t *testing.T) {
	if *balancer != "" {
		t.Skip("-balancer is given, so the other tests cover this")
	}
	servers := map[string]any{"local": npmServer(t, "server-everything")}
	typescript := startDriver(t, "v1")
	for _, balancer := range []string{gatetest.Nginx, gatetest.HaproxyNew} {
		t.Run(balancer, func(t *testing.T) {
			dir := gatetest.ShortDir(t)
			g := serveNodes(t, dir, writeConfig(t, dir, servers), balancer)
			for name, dial := range map[string]func() (peer, error){
				"typescript": func() (peer, error) {
					return dialNode(t.Context(), typescript, map[string]any{"via": "http", "url": g.url}, manner{})
				},
				"go-sdk": func() (peer, error) {
					return goSDKOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
				},
				"mcp-go": func() (peer, error) {
					return mcpGoOverHTTP(t.Context(), target{url: g.url}, manner{version: legacyVersion})
				},
			} {
				t.Run(name, func(t *testing.T) {
					p, err := dial()
					hold(t, p, err, "local", name+"-"+balancer)
				})
			}
			waitFor(t, "no call in flight: canceled calls must end at the server too", func() (bool, string) { return noneInFlight(t, g) })
		})
	}
}
