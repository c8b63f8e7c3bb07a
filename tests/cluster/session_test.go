//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

const servers = `
metaTools: false
mcpServers:
  notes: {command: %q, args: [demo, notes]}
  oracle: {command: %q, args: [demo, oracle]}
`

// binary is the gateway; built once.
var binary string

func TestMain(m *testing.M) {
	gatetest.RunNamespace()
	dir, err := os.MkdirTemp("", "ga")
	if err == nil {
		binary, err = gatetest.Build(dir)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// start starts three nodes behind a balancer. It skips the test if the balancer is not installed, unless BALANCERS=all, as in
// make cluster.
func start(t *testing.T, balancer, config string) *gatetest.Cluster {
	t.Helper()
	if balancer != "" {
		gatetest.NeedBalancer(t, balancer)
	}
	return gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: gatetest.ShortDir(t), Balancer: balancer, Config: config})
}

// heard collects the updates, questions and progress messages that a client receives.
type heard struct{ updated, questions, progress chan string }

// connect connects a client of the official Go SDK that speaks this protocol version.
func connect(t *testing.T, url, version string) (*mcp.ClientSession, *heard) {
	t.Helper()
	return connectWith(t, url, version, "t", nil)
}

// connectWith connects a client with that name, which sends its requests with via; nil = http.DefaultClient.
func connectWith(t *testing.T, url, version, name string, via *http.Client) (*mcp.ClientSession, *heard) {
	t.Helper()
	h := &heard{updated: make(chan string, 64), questions: make(chan string, 64), progress: make(chan string, 64)}
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.updated <- r.Params.URI },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { h.progress <- r.Params.Message },
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.questions <- r.Params.Message
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ugg", "topic": "gold"}}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: via}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, h
}

// callAll lists tools and calls them, so that each node serves some of the requests, and answers the questions of a server.
func callAll(t *testing.T, c *gatetest.Cluster, session *mcp.ClientSession, h *heard) {
	t.Helper()
	for range 6 {
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 10 {
			t.Fatalf("tools/list: %v, %v", tools, err)
		}
	}
	for i := range 9 {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_add_note", Arguments: map[string]any{"title": fmt.Sprintf("n%d", i), "text": "x"}})
		if err != nil || r.IsError {
			t.Fatalf("call %d: %v, %v", i, r, err)
		}
	}
	if calls := c.Calls(); slices.Contains(calls, 0) {
		t.Errorf("calls of each node: %v; want some of each", calls)
	}
	for i := range 6 {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "oracle_consult"})
		if err != nil || r.IsError {
			t.Fatalf("question %d: %v, %v", i, r, err)
		}
	}
	if n := len(h.questions); n != 6 {
		t.Errorf("the client was asked %d questions, want 6", n)
	}
}

func behindEach(t *testing.T, test func(t *testing.T, balancer string)) {
	for _, balancer := range []string{gatetest.Nginx, gatetest.Haproxy} {
		t.Run(balancer, func(t *testing.T) { test(t, balancer) })
	}
}

// S6.1: a session works although its requests reach all nodes in turn: lists, calls, questions, subscriptions, its stream and its
// end.
func TestSessionOverAllNodes(t *testing.T) {
	behindEach(t, func(t *testing.T, balancer string) {
		c := start(t, balancer, fmt.Sprintf(servers, binary, binary))
		session, h := connect(t, c.URL, "2025-11-25")
		callAll(t, c, session, h)
		const uri = "resource://notes/note:///welcome"
		if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		late := time.After(gatetest.Patience)
		for told := false; !told; { // each node has its own notes, and the client is subscribed to those of its home
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_edit_note", Arguments: map[string]any{"slug": "welcome", "text": time.Now().String()}}); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-h.updated:
				told = got == uri
			case <-time.After(100 * time.Millisecond):
			case <-late:
				t.Fatal("the client received no update")
			}
		}
		if err := session.Close(); err != nil {
			t.Errorf("end of the session: %v", err)
		}
	})
}

// S6.1: a client of 2026-07-28 needs no session. The retry of a parked call reaches the node that holds the call.
func TestModernClientOverAllNodes(t *testing.T) {
	behindEach(t, func(t *testing.T, balancer string) {
		c := start(t, balancer, fmt.Sprintf(servers, binary, binary))
		session, h := connect(t, c.URL, "2026-07-28")
		callAll(t, c, session, h)
	})
}
