package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// subscriptionFilter returns the params of subscriptions/listen for that many resources.
func subscriptionFilter(uris int) string {
	list := make([]string, uris)
	for i := range list {
		list[i] = fmt.Sprintf(`"file:///r%d"`, i)
	}
	return `,"notifications":{"resourceSubscriptions":[` + strings.Join(list, ",") + `]}`
}

// Sessions and streams of one principal are counted together, separately from those of other principals. Those of unauthenticated
// clients and ended ones are not counted.
func TestSubscriptionsOfPrincipalAreCounted(t *testing.T) {
	refs := childReferences(t, 5)
	s := newState(&config.Config{Limits: config.Limits{MaxSessions: 10, MaxSubscriptionsPerPrincipal: 6}}, kernel.Reference{})
	s.registry = refs[4]
	alice, bob, local := owner{"key:alice", true}, owner{"key:bob", true}, owner{name: "127.0.0.1"}
	for i, of := range []owner{alice, alice, bob, local} {
		s.sessions.begin(of, 0)
		s.sessions.started(sessionStarted{refs[i], of, 0})
	}
	reserve := func(session, count int) (refused bool) {
		out := step(s, time.Time{}, message.ReserveSubscriptions{Session: refs[session], Seq: 7, Count: count}, nil)
		m, ok := out[0].Msg.(message.ReserveSubscriptionsResult)
		if len(out) != 1 || out[0].To != refs[session] || !ok || m.Seq != 7 {
			t.Fatalf("got %+v, want one answer", out)
		}
		return m.Fault != nil
	}
	stream := func(who *identity.Principal, uris int) (refused bool) {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: "127.0.0.1:5"}}
		for _, e := range s.open(requestStream(message.OpenSubscription{Exchange: x, Admitted: message.Admitted{Who: who}, Subscriptions: uris}), nil) {
			switch a := e.Act.(type) {
			case refuseStream:
				return a.why.Name == protocol.Overloaded && strings.Contains(a.why.Message, "limits.maxSubscriptionsPerPrincipal")
			case startStream: // its spawn fails
				s.sessions.started(sessionStarted{owner: a.owner, subscriptions: a.subscriptions})
			}
		}
		return false
	}
	for i, c := range []struct{ got, want bool }{
		{reserve(0, 4), false}, {reserve(1, 2), false}, {reserve(1, 1), true}, {stream(keyPrincipal("alice"), 1), true}, {stream(keyPrincipal("alice"), 0), false},
		{reserve(2, 6), false}, {stream(keyPrincipal("bob"), 1), true}, {stream(keyPrincipal("carol"), 6), false}, {stream(keyPrincipal("carol"), 7), true}, {reserve(3, 100), false}, {stream(nil, 100), false},
	} {
		if c.got != c.want {
			t.Errorf("step %d: refused %v, want %v", i, c.got, c.want)
		}
	}
	step(s, time.Time{}, message.ReleaseSubscriptions{Session: refs[0], Count: 1}, nil)
	if reserve(1, 1) {
		t.Error("a released subscription cannot be reserved again")
	}
	step(s, time.Time{}, kernel.ChildStopped{Child: refs[1]}, nil)
	if reserve(0, 3) || !reserve(0, 1) {
		t.Error("after a session with three subscriptions has ended, not exactly three more can be reserved")
	}
	if out := step(s, time.Time{}, message.ReserveSubscriptions{Session: refs[1], Count: 1}, nil); len(out) != 0 {
		t.Errorf("an ended session got %+v", out)
	}
	step(s, time.Time{}, message.ReleaseSubscriptions{Session: refs[1], Count: 5}, nil)
	for _, ref := range refs[:4] {
		step(s, time.Time{}, kernel.ChildStopped{Child: ref}, nil)
	}
	if o := s.sessions.owners; len(o.of)+len(o.subscribed)+len(o.sessions)+len(o.subscriptions) != 0 {
		t.Errorf("remaining: %+v", o)
	}
}

// One key cannot fill the gateway's memory with subscriptions, in however many sessions and streams. Other principals are
// not affected, and the key can subscribe again after it has ended some.
func TestAttack43OneKeyWithManySubscriptions(t *testing.T) {
	server := &actortest.Server{Tools: []string{"t"}}
	for i := range 20 {
		server.Resources = append(server.Resources, fmt.Sprintf("file:///r%d", i))
	}
	const most = 12
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
		withAuth(c)
		c.Limits.MaxSubscriptionsPerPrincipal = most
		c.Resources.URIStyle = "original"
	})
	full := func(answer string) bool {
		return strings.Contains(answer, "OVERLOADED") && strings.Contains(answer, "limits.maxSubscriptionsPerPrincipal")
	}
	call := func(name, session, method string, uri int) string {
		return w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"resources/%s","params":{"uri":"file:///r%d"}}`, method, uri), asUser(name, "Mcp-Session-Id", session)...).body
	}
	var sessions []string
	for i := range 2 {
		sessions = append(sessions, w.openAs("mallory", "/mcp"))
		for uri := range 4 {
			if got := call("mallory", sessions[i], "subscribe", uri); !strings.Contains(got, `"result"`) {
				t.Fatalf("within the limit: %s", got)
			}
		}
	}
	s, _ := w.post("/mcp", modern(3, "subscriptions/listen", "{}", subscriptionFilter(4)), asUser("mallory", modernHeaders("subscriptions/listen", "")...)...)
	defer s.close()
	if e := s.next(); !strings.Contains(e.data, "file:///r3") {
		t.Fatalf("acknowledged: %+v", e)
	}
	if got := call("mallory", sessions[1], "subscribe", 4); !full(got) {
		t.Errorf("one above the limit: %s", got)
	}
	if got := call("mallory", sessions[1], "subscribe", 3); !strings.Contains(got, `"result"`) {
		t.Errorf("a repeated subscribe: %s", got)
	}
	if got := w.modernAs("mallory", "subscriptions/listen", "{}", subscriptionFilter(1)); !full(got.body) {
		t.Errorf("another stream: %s", got.body)
	}
	if got := call("bob", w.openAs("bob", "/mcp"), "subscribe", 4); !strings.Contains(got, `"result"`) {
		t.Errorf("another principal: %s", got)
	}
	if got := call("mallory", sessions[0], "unsubscribe", 0); !strings.Contains(got, `"result"`) {
		t.Fatal(got)
	}
	w.eventually("a released subscription is available", func() bool { return strings.Contains(call("mallory", sessions[1], "subscribe", 4), `"result"`) })
	if got := call("mallory", sessions[1], "subscribe", 5); !full(got) {
		t.Errorf("one above the limit again: %s", got)
	}
	w.do("DELETE", "/mcp", "", asUser("mallory", "Mcp-Session-Id", sessions[0])...)
	w.eventually("the subscriptions of an ended session are available", func() bool { return strings.Contains(call("mallory", sessions[1], "subscribe", 5), `"result"`) })
}

// Unauthenticated clients have only the limits of their sessions.
func TestUnauthenticatedSubscriptionsAreNotCounted(t *testing.T) {
	server := &actortest.Server{Tools: []string{"t"}, Resources: []string{"file:///r0", "file:///r1"}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
		c.Limits.MaxSubscriptionsPerPrincipal = 1
		c.Resources.URIStyle = "original"
	})
	session := w.open("/mcp")
	for uri := range 2 {
		got := w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"file:///r%d"}}`, uri), "Mcp-Session-Id", session)
		if !strings.Contains(got.body, `"result"`) {
			t.Errorf("%d: %s", uri, got.body)
		}
	}
	s, _ := w.post("/mcp", modern(3, "subscriptions/listen", "{}", subscriptionFilter(2)), modernHeaders("subscriptions/listen", "")...)
	defer s.close()
	if e := s.next(); !strings.Contains(e.data, "file:///r1") {
		t.Errorf("acknowledged: %+v", e)
	}
}
