package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

// What a shared server says outside of calls may be about anybody's: where clients are asked who they are nobody is told but whoever is not asked,
// as the gateway's own user on stdin.
func TestLogsOutsideCallsAreForNobody(t *testing.T) {
	server := &actortest.Server{Tools: []string{"a"}, Logging: true}
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.opens("alice", "/mcp")
	stream, _ := w.listen("/mcp", by("alice", "Mcp-Session-Id", id)...)
	own, _ := w.listen("/mcp", by("", "Mcp-Session-Id", w.opens("", "/mcp"))...)
	_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of bob's files"}}`))
	if got := own.soon(); !strings.Contains(got, "of bob's files") {
		t.Errorf("whoever is not asked is told %q", got)
	}
	server.SetTools(true, "a", "b")
	for got := stream.data(); !strings.Contains(got, "list_changed"); got = stream.data() {
		t.Errorf("told %s", got)
	}
}

// The status tells whose sessions and calls there are.
func TestStatusTellsWho(t *testing.T) {
	server, say := slowServer(t)
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, withAuth)
	id := w.opens("alice", "/mcp")
	done := make(chan reply, 2)
	go func() { done <- w.do("POST", "/mcp", slowCall, by("alice", "Mcp-Session-Id", id)...) }()
	go func() { done <- w.modernly("bob", "tools/call", "{}", `,"name":"one_slow"`) }()
	w.eventually("the calls reach the server", func() bool { return len(server.Received("tools/call")) == 2 })
	picture, err := w.gateway.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whose := map[string]bool{}
	for _, c := range picture.Calls {
		whose[c.Who] = true
	}
	if len(picture.Sessions) != 1 || picture.Sessions[0].Who != "alice" || !whose["alice"] || !whose["bob"] {
		t.Errorf("sessions %+v, calls %+v", picture.Sessions, picture.Calls)
	}
	close(say)
	<-done
	<-done
}

// What a server says on a principal's own connection is for the sessions of that principal.
func TestLogsOnAPrincipalsConnection(t *testing.T) {
	server := &actortest.Server{Tools: []string{"a"}, Logging: true}
	w := serveWeb(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
		withAuth(c)
		c.Servers[0].Isolation, c.Servers[0].MaxBackends = "principal", 4
	})
	streams := map[string]*events{}
	for _, name := range []string{"alice", "bob"} {
		id := w.opens(name, "/mcp")
		streams[name], _ = w.listen("/mcp", by(name, "Mcp-Session-Id", id)...)
		if name == "alice" {
			w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_a"}}`, by(name, "Mcp-Session-Id", id)...)
		}
	}
	_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of alice's files"}}`))
	if got := streams["alice"].soon(); !strings.Contains(got, "of alice's files") {
		t.Errorf("alice is told %q", got)
	}
	server.SetTools(true, "a", "b")
	for got := streams["bob"].data(); !strings.Contains(got, "list_changed"); got = streams["bob"].data() {
		t.Errorf("bob is told %s", got)
	}
}
