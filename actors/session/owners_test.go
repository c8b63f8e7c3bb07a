package session

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// owner is a session that subscribes at a server whose connections are not shared by all clients.
type owner struct {
	*conversation
	pools []kernel.Reference
}

func newOwner(t *testing.T) *owner {
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	o := &owner{conversation: newConversation(t, "http")}
	for i := range 2 {
		o.pools = append(o.pools, actortest.NewProbe(system, fmt.Sprint("pool", i)).Reference)
	}
	return o
}

// published returns a catalog whose server has the given pool and changed settings.
func (o *owner) published(pool int, change func(*config.Server)) message.Published {
	rules := config.DefaultServer()
	change(&rules)
	source := catalog.Source{Server: &catalog.Server{Name: "one", Pool: o.pools[pool], Rules: rules, Settled: true}}
	source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///r","name":"r"}`)}
	return message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{URIStyle: "original", PageSize: 10})}
}

// tells returns the messages about subscriptions that a step sends to the pools.
func (o *owner) tells(msg any) (told []string) {
	o.t.Helper()
	for _, e := range step(o.s, time.Unix(1000, 0), msg, nil) {
		at := slices.Index(o.pools, e.To)
		switch m := e.Msg.(type) {
		case message.SubscribeURI:
			told = append(told, fmt.Sprintf("%d subscribe %.17q %s", at, m.Own.KeyOf(), m.URI))
		case message.UnsubscribeURI:
			told = append(told, fmt.Sprintf("%d unsubscribe %.17q %s", at, m.Tenant, m.URI))
		case message.Resubscribe:
			if len(m.URIs) > 0 {
				told = append(told, fmt.Sprintf("%d resubscribe %.17q %s", at, m.Own.KeyOf(), strings.Join(m.URIs, " ")))
			}
		case message.ClientGone:
			told = append(told, fmt.Sprintf("%d gone %s", at, m.Client))
		}
	}
	return told
}

func (o *owner) want(msg any, told ...string) {
	o.t.Helper()
	if got := o.tells(msg); !slices.Equal(got, told) {
		o.t.Errorf("told\n%q, want\n%q", got, told)
	}
}

const subscribeR = `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///r"}}`

// The client's subscriptions are held on its own connections, at the newest pool and according to the newest settings.
// When the client leaves, the session notifies that pool.
func TestSubscriptionsFollowTheirConnections(t *testing.T) {
	o := newOwner(t)
	session := func(s *config.Server) { s.Isolation = "session" }
	o.step(o.published(0, session))
	o.step(o.from(hello))
	o.want(o.from(subscribeR, 1), `0 subscribe "session session" file:///r`)
	o.want(message.SubscribeURIResult{Seq: o.s.calls.Last()})
	o.want(o.published(0, session))
	o.want(o.published(1, session), `1 resubscribe "session session" file:///r`)
	o.want(o.published(1, func(s *config.Server) { s.Isolation = "principal" }), `1 resubscribe "principal " file:///r`)
	o.want(o.published(1, func(*config.Server) {}), `1 resubscribe "" file:///r`)
	o.want(o.published(0, session), `0 resubscribe "session session" file:///r`)
	o.want(o.published(1, session), `1 resubscribe "session session" file:///r`)
	o.want(kernel.Stopping{}, "1 gone session")
}

// A subscribe with other headers moves the subscription to another connection. The old subscription is
// canceled. If the server's pool is replaced first, the session repeats the subscribe and the cancellation at the new pool.
func TestSubscriptionsFollowTheHeaders(t *testing.T) {
	o := newOwner(t)
	forward := func(s *config.Server) { s.ForwardHeaders = []config.ForwardHeader{{From: "X-User", To: "X-User"}} }
	from := func(user string, id int) message.Inbound {
		in := o.from(subscribeR, id)
		in.Exchange.Origin.Forwarded = http.Header{"X-User": {user}}
		return in
	}
	o.step(o.published(0, forward))
	o.step(o.from(hello))
	first := o.tells(from("alice", 1))
	alice := o.s.calls.Last()
	second := o.tells(from("bob", 2))
	if len(first) != 1 || len(second) != 2 || second[0] != strings.Replace(first[0], "subscribe", "unsubscribe", 1) || second[1] == first[0] {
		t.Fatalf("alice: %q, then bob: %q", first, second)
	}
	again := o.tells(o.published(1, forward))
	for i := range again {
		again[i] = strings.Replace(again[i], "1 ", "0 ", 1)
	}
	if want := []string{first[0], second[0], second[1]}; !slices.Equal(again, want) {
		t.Errorf("the next pool is told %q, want %q", again, want)
	}
	o.step(message.SubscribeURIResult{Seq: alice, Fault: &protocol.Fault{Name: protocol.ServerUnavailable}})
	if len(o.s.subs.active) != 1 {
		t.Error("the failure of the canceled subscription removes the other one")
	}
	o.step(message.SubscribeURIResult{Seq: o.s.calls.Last()})
	if same := o.tells(from("bob", 3)); len(same) != 1 {
		t.Errorf("bob again: %q", same)
	}
	o.step(message.SubscribeURIResult{Seq: o.s.calls.Last()})
	asleep := o.tells(o.published(1, func(*config.Server) {}))
	awake := o.tells(o.published(1, forward))
	if want := strings.Replace(second[1], "0 subscribe", "1 resubscribe", 1); len(o.s.subs.active) != 1 || !slices.Equal(awake, []string{want}) {
		t.Errorf("without these headers %q, with them again %q, want %q", asleep, awake, want)
	}
}
