package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// A log message that a shared server sends outside of a call may be about any client's data. If authentication is on, it
// goes only to unauthenticated clients, such as the local user on stdio.
func TestLogsOutsideCalls(t *testing.T) {
	server := &actortest.Server{Tools: []string{"a"}, Logging: true}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.openAs("alice", "/mcp")
	stream, _ := w.listen("/mcp", asUser("alice", "Mcp-Session-Id", id)...)
	own, _ := w.listen("/mcp", asUser("", "Mcp-Session-Id", w.openAs("", "/mcp"))...)
	_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of bob's files"}}`))
	if got := own.dataOrTimeout(); !strings.Contains(got, "of bob's files") {
		t.Errorf("the unauthenticated client got %q", got)
	}
	server.SetTools(true, "a", "b")
	for got := stream.data(); !strings.Contains(got, "list_changed"); got = stream.data() {
		t.Errorf("alice got %s", got)
	}
}

// The status has the principals of sessions and calls.
func TestStatusHasPrincipals(t *testing.T) {
	server, say := slowServer(t)
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.openAs("alice", "/mcp")
	done := make(chan reply, 2)
	go func() { done <- w.do("POST", "/mcp", slowCall, asUser("alice", "Mcp-Session-Id", id)...) }()
	go func() { done <- w.modernAs("bob", "tools/call", "{}", `,"name":"one_slow"`) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	status, err := w.gateway.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	principals := map[string]bool{}
	for _, c := range status.Calls {
		principals[c.Who] = true
	}
	if len(status.Sessions) != 1 || status.Sessions[0].Who != "alice" || !principals["alice"] || !principals["bob"] {
		t.Errorf("sessions %+v, calls %+v", status.Sessions, status.Calls)
	}
	close(say)
	<-done
	<-done
}

// A log message on a principal's own connection goes to the sessions of that principal.
func TestLogsOnOwnConnection(t *testing.T) {
	server := &actortest.Server{Tools: []string{"a"}, Logging: true}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
		withAuth(c)
		c.Servers[0].Isolation, c.Servers[0].MaxBackends = "principal", 4
	})
	streams := map[string]*events{}
	for _, name := range []string{"alice", "bob"} {
		id := w.openAs(name, "/mcp")
		streams[name], _ = w.listen("/mcp", asUser(name, "Mcp-Session-Id", id)...)
		if name == "alice" {
			w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a"}}`, asUser(name, "Mcp-Session-Id", id)...)
		}
	}
	_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of alice's files"}}`))
	if got := streams["alice"].dataOrTimeout(); !strings.Contains(got, "of alice's files") {
		t.Errorf("alice got %q", got)
	}
	server.SetTools(true, "a", "b")
	for got := streams["bob"].data(); !strings.Contains(got, "list_changed"); got = streams["bob"].data() {
		t.Errorf("bob got %s", got)
	}
}
