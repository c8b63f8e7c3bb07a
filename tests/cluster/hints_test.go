//go:build linux

package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// request sends a request of a session to a node. The caller must close the body of the response.
func request(t *testing.T, n *gatetest.Node, method, session, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, n.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// status sends a request of a session to a node, and returns the status of the response.
func status(t *testing.T, n *gatetest.Node, method, session, body string) int {
	t.Helper()
	answer := request(t, n, method, session, body)
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A call that runs on one node is canceled by a message to another node that has never seen the session. When the session ends, all
// nodes refuse it.
func TestCancelAndEndAtOtherNodes(t *testing.T) {
	cluster := start(t, "", fmt.Sprintf(servers, binary, binary))
	a, b, c := cluster.Nodes[0], cluster.Nodes[1], cluster.Nodes[2]
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return members(a, b, c) })
	opened := request(t, a, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	_ = opened.Body.Close()
	session := opened.Header.Get("Mcp-Session-Id")
	call := request(t, b, "POST", session, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"oracle_consult","arguments":{}}}`)
	defer func() { _ = call.Body.Close() }()
	lines := bufio.NewScanner(call.Body)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream of the call ended without %q: %v", text, lines.Err())
	}
	until("elicitation/create")
	began := time.Now()
	if got := status(t, c, "POST", session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`); got != 202 {
		t.Fatalf("cancellation: %d", got)
	}
	until(`"CANCELLED"`)
	t.Logf("a call is canceled by another node after %v", time.Since(began))
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	all := func() string {
		return fmt.Sprint(status(t, a, "POST", session, ping), status(t, b, "POST", session, ping), status(t, c, "POST", session, ping))
	}
	if got := all(); got != "200 200 200" {
		t.Fatalf("pings: %s", got)
	}
	if got := status(t, b, "DELETE", session, ""); got != 204 {
		t.Fatalf("DELETE: %d", got)
	}
	t.Logf("all nodes refuse an ended session after %v", within(t, time.Second, "end", "404 404 404", all))
	for _, n := range cluster.Nodes { // no node that has known the session from the start is left
		n.Kill()
		n.Start()
		gatetest.WaitReady(t, n.Base)
		if got := all(); got != "404 404 404" {
			t.Errorf("after a restart of node %s: %s", n.Name, got)
		}
		within(t, gatetest.Patience, "back", "3 3 3", func() string { return members(a, b, c) })
	}
}
