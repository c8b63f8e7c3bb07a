package actors

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
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

// The status names the principals of sessions and calls.
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

// Log messages go to the caller of the only running call, or to all clients if no call runs. Messages below a session's
// level are dropped.
func TestLogMessages(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"ask"}, Logging: true, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.initialize()
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
		if set := server.Received("logging/setLevel"); len(set) != 1 || !strings.Contains(string(set[0].Raw), `"level":"warning"`) {
			t.Errorf("the server got %v, want the level once", set)
		}
		line := func(level string) {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","data":1}}`))
		}
		line("info")
		line("error")
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
			t.Errorf("outside of a call: %v, want the error only", got)
		}
		h.send(call(2))
		line("debug")
		line("critical")
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], `"critical"`) {
			t.Errorf("during a call: %v, want the critical message only", got)
		}
	})(t)
}

// A process does not say which call a log message belongs to. While one call is parked, messages go to the running call.
func TestLogMessagesWithParkedCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := serverSending(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`)
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		const level = `"io.modelcontextprotocol/logLevel":"info",`
		call := func(id int) string {
			return strings.Replace(modernCall(id, allCapabilities, ""), `"_meta":{`, `"_meta":{`+level, 1)
		}
		h.send(call(1))
		time.Sleep(time.Second)
		if got := h.received(); len(got) != 1 || !strings.Contains(got[0], "input_required") {
			t.Fatalf("the first call: %q", got)
		}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"from the second call"}}`))
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
		}
		if got := h.send(call(2)); len(got) != 2 || !strings.Contains(got[0], "from the second call") {
			t.Errorf("the second call: %q, want its log message and its response", got)
		}
	})(t)
}
