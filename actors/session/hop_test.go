package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// hopConversation is that of a session which another node has opened, with a server of this version; "" = it is not ready.
func hopConversation(t *testing.T, version, isolation string) *conversation {
	t.Helper()
	k := newConversation(t, "http")
	k.s = newState(Options{ID: "session", Transport: "http", Limits: config.Default().Limits, Opened: message.Admitted{
		View: catalog.Key{Server: "one", Rights: identity.AllRights}, Who: identity.Node, Behalf: &identity.Behalf{},
	}}, kernel.Reference{})
	k.s.limits.MaxInFlightPerClient = 1
	rules := config.DefaultServer()
	rules.Isolation = isolation
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: rules, Settled: true, Protocol: version, Instructions: "Of one.", Capabilities: []byte(`{"tools":{}}`)}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object"}}`)}
	k.step(message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace, PageSize: 10})})
	return k
}

// hop returns a message of the other node.
func (k *conversation) hop(b identity.Behalf, format string, args ...any) message.Inbound {
	m := k.from(format, args...)
	m.Exchange.Origin.Path, m.Exchange.Origin.Principal = "/s/one/mcp", identity.OnBehalf(b)
	m.Who, m.Behalf = identity.Node, m.Exchange.Origin.Principal.Behalf()
	return m
}

// The initialize of another node is answered as the server would answer it, or refused.
func TestHopInitialize(t *testing.T) {
	for version, want := range map[string]string{
		"2025-06-18": `{"protocolVersion":"2025-06-18","serverInfo":{"name":"goblin-actor","version":""},"capabilities":{"tools":{}},"instructions":"Of one."}`,
		"2026-07-28": "server one speaks protocol version 2026-07-28",
		"":           "server one is not ready on its node",
	} {
		k := hopConversation(t, version, "shared")
		got, stops := "", false
		for _, e := range step(k.s, time.Unix(1000, 0), k.hop(identity.Behalf{}, hello), nil) {
			switch a := e.Act.(type) {
			case reply.Answer:
				got = string(a.Frame)
			case refuse:
				got = a.fault.Message
			case refuseHop:
				got = a.why
			case kernel.SelfStop:
				stops = true
			}
		}
		if !strings.Contains(got, want) || stops == strings.HasPrefix(want, "{") {
			t.Errorf("version %q: got %s, stops: %v, want %s", version, got, stops, want)
		}
	}
}

// Each call of another node's session is its client's, and the node's calls have no common limit.
func TestHopCallsAreTheirClients(t *testing.T) {
	ann := &identity.Principal{ID: "key:ann", Via: identity.ViaKey, Holder: "key:ann@0000000000000001"}
	for isolation, clients := range map[string][2]string{"shared": {"k1", "k2"}, "principal": {"k1", "k2"}, "session": {"session", "session"}} {
		k := hopConversation(t, "2025-06-18", isolation)
		k.step(k.hop(identity.Behalf{}, hello))
		for i, b := range []identity.Behalf{{Who: ann, Client: "k1"}, {Client: "k2"}} {
			var caller *message.Caller
			for _, e := range step(k.s, time.Unix(1000, 0), k.hop(b, callOf, i+1, "ask"), nil) {
				if d, is := e.Msg.(message.Dispatch); is {
					caller = d.Request.Caller
				}
			}
			if caller == nil || caller.Principal != message.PrincipalOf(b.Who) || caller.ClientKey != clients[i] {
				t.Errorf("isolation %s, call %d: %+v, want principal %q and client %s", isolation, i, caller, message.PrincipalOf(b.Who), clients[i])
			}
		}
	}
}

// Changed principals do not end the session of another node.
func TestHopSessionSurvivesChangedKeys(t *testing.T) {
	k := hopConversation(t, "2025-06-18", "shared")
	k.step(k.hop(identity.Behalf{}, hello))
	if got := k.step(message.Principals{Newest: map[string]*identity.Principal{}, Local: identity.Local, Epoch: 9}); got != "" {
		t.Error(got)
	}
	if got := k.step(k.hop(identity.Behalf{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != "result" {
		t.Error(got)
	}
}

// A server's request is passed on to the node of the client, which decides whether the client can answer it.
func TestHopGetsUndeclaredRequests(t *testing.T) {
	for _, hop := range []bool{true, false} {
		k := hopConversation(t, "2025-06-18", "class")
		k.step(k.hop(identity.Behalf{}, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		m, seq := k.hop(identity.Behalf{}, callOf, 1, "ask"), uint64(0)
		if !hop {
			m.Exchange.Origin.Principal = identity.Local
		}
		for _, e := range step(k.s, time.Unix(1000, 0), m, nil) {
			if d, is := e.Msg.(message.Dispatch); is {
				seq = d.Call.Seq
			}
		}
		passed := false
		for _, e := range step(k.s, time.Unix(1000, 0), message.ServerRequest{Seq: seq, Key: 5, Frame: actortest.Frame(t, fmt.Sprintf(asking, "sampling/createMessage"))}, nil) {
			_, is := e.Act.(reply.Notify)
			passed = passed || is
		}
		if passed != hop {
			t.Errorf("hop %v: the request is passed on: %v", hop, passed)
		}
	}
}
