package stateless

import (
	"strings"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// A client with a loopback address is identified by the address and the clientInfo that it sends. A remote client, a client on
// stdin and stdout, and one without clientInfo are identified by the address alone.
func TestClientIdentity(t *testing.T) {
	d := newStatelessScript(t, 1)
	key := func(remote, info string) string {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: remote}}
		member := ""
		if info != "" {
			member = `"_meta":{"io.modelcontextprotocol/clientInfo":` + info + `}`
		}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+member+`}}`)
		return d.s.memo.clientKey(x, nil)
	}
	for _, test := range []struct{ remote, info, want string }{
		{"127.0.0.1:5", `{"name":"a"}`, `127.0.0.1{"name":"a"}`},
		{"127.0.0.1:6", `{"name":"a"}`, `127.0.0.1{"name":"a"}`},
		{"127.0.0.1:6", `{"name":"b"}`, `127.0.0.1{"name":"b"}`},
		{"[::1]:6", `{"name":"b"}`, `[::1]{"name":"b"}`},
		{"127.0.0.1:6", "", "127.0.0.1"},
		{"10.0.0.1:6", `{"name":"b"}`, "10.0.0.1"},
		{"stdio", `{"name":"b"}`, "stdio"},
	} {
		if got := key(test.remote, test.info); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.remote, test.info, got, test.want)
		}
	}
	if n := len(key("127.0.0.1:5", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`)); n > 300 {
		t.Errorf("a long name makes a key of %d bytes", n)
	}
}

// If a client leaves after the server's request but before it was sent a state, its call ends: without a state it
// cannot return.
func TestClientLeavesBeforeServerRequest(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.step(d.request(""))
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(`{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`)})
	d.step(reply.Departed{Seq: d.first(), X: d.waiting[0]})
	if d.s.calls.Len()+len(d.s.clients) != 0 {
		t.Errorf("%d calls of %d clients are left", d.s.calls.Len(), len(d.s.clients))
	}
}

// A client whose request is refused has no call, so no record of it is kept: it could send a different name each time.
func TestRefusedClientIsForgotten(t *testing.T) {
	d := newStatelessScript(t, 1)
	visit := d.request("")
	visit.State = &seal.State{Kind: seal.Relayed, Server: "another"}
	d.step(visit)
	if d.s.calls.Len()+len(d.s.clients) != 0 {
		t.Errorf("%d calls of %d clients are left", d.s.calls.Len(), len(d.s.clients))
	}
}

// A client's new call evicts only calls of the same client for which no request waits.
func TestEvictionOfParkedCalls(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.step(d.request(""))
	if out, ok := d.s.evictParked(d.now, d.s.calls.Held(d.first()).caller.ClientKey, nil); ok || len(out) != 0 {
		t.Errorf("a running call was evicted: %v", out)
	}
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(`{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`)})
	for _, msg := range d.timers {
		d.step(msg)
	}
	if _, ok := d.s.evictParked(d.now, "another", nil); ok || d.s.calls.Len() != 1 {
		t.Error("another client's call was evicted")
	}
	if _, ok := d.s.evictParked(d.now, d.s.calls.Held(d.first()).caller.ClientKey, nil); !ok || d.s.calls.Len() != 0 {
		t.Error("the parked call was not evicted")
	}
}

// After a start or a restart, a stateless session tells a gateway that may be draining that no client waits for it.
func TestStartedStatelessSessionReportsDrained(t *testing.T) {
	d := newStatelessScript(t, 1)
	for _, e := range step(d.s, d.now, kernel.Started{}, nil) {
		if _, ok := e.Msg.(message.Drained); ok {
			return
		}
	}
	t.Error("the gateway is not told")
}

// Messages about a call wait in the mailbox lane of its client, as its request did.
func TestCallStaysInItsClientsLane(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.step(d.request(""))
	visit := message.StatelessRequest{Exchange: d.waiting[0]}
	for _, m := range []kernel.LaneMessage{message.Done{Seq: d.first()}, message.Progress{Seq: d.first()}, message.Failed{Seq: d.first()}} {
		if m.Lane() != visit.Lane() || m.Lane() == 0 {
			t.Errorf("%T: lane %d, of its request %d", m, m.Lane(), visit.Lane())
		}
	}
	if withdrawal := (message.CancelStateless{Remote: "stdio"}); withdrawal.Lane() != (message.StatelessRequest{Exchange: &downstream.Exchange{Origin: downstream.Origin{Stdio: true, Remote: "stdio"}}}).Lane() {
		t.Error("a cancellation on stdin may overtake its request")
	}
}
