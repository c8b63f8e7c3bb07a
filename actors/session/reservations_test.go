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
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A session of a principal reserves each subscription before it subscribes. It holds one reservation for two requests for one
// resource, and none if the gateway refused or the client has unsubscribed meanwhile.
func TestSessionReservesBeforeSubscribing(t *testing.T) {
	const subscribe, unsubscribe = "subscribe", "unsubscribe"
	for name, c := range map[string]struct {
		requests  []string
		refused   bool
		asked     int // requests to the gateway
		held, has int // in the end: reservations at the gateway, subscriptions at the server
	}{
		"one": {[]string{subscribe}, false, 1, 1, 1}, "two for one": {[]string{subscribe, subscribe}, false, 2, 1, 1}, "refused": {[]string{subscribe}, true, 1, 0, 0},
		"unsubscribed":              {[]string{subscribe, unsubscribe}, false, 1, 0, 0},
		"unsubscribed, and refused": {[]string{subscribe, unsubscribe}, true, 1, 0, 0}, "unsubscribed, and again": {[]string{subscribe, unsubscribe, subscribe}, false, 2, 1, 1},
	} {
		s := ofAlice(t, key("alice", nil))
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true}}
		source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///r","name":"r"}`)}
		step(s, time.Now(), message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{URIStyle: "original", PageSize: 10})}, nil)
		var asks []message.ReserveSubscriptions
		held, has, answers, gone := 0, map[string]bool{}, 0, false
		does := func(msg any) {
			answered := false
			for _, e := range step(s, time.Unix(5000, 0), msg, nil) {
				if _, ok := e.Act.(reply.Answer); ok {
					answers, answered = answers+1, true
				}
				if r, ok := e.Act.(refuse); ok && r.status == 204 {
					answered, gone = true, true
				}
				switch m := e.Msg.(type) {
				case message.ReserveSubscriptions:
					asks = append(asks, m)
				case message.ReleaseSubscriptions:
					if held -= m.Count; answered {
						t.Errorf("%s: the client got an answer before the gateway got the request", name)
					}
				case message.SubscribeURI:
					has[m.URI] = true
				case message.UnsubscribeURI:
					delete(has, m.URI)
				}
			}
		}
		for i, method := range c.requests {
			x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
			x.Frame, x.Params = actortest.Request(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/%s","params":{"uri":"file:///r"}}`, i, method))
			does(message.Inbound{Exchange: x, Admitted: message.Admitted{Who: s.principal.who, Epoch: 7}})
		}
		asked := len(asks)
		for _, ask := range asks {
			answer := message.ReserveSubscriptionsResult{Seq: ask.Seq}
			if c.refused {
				answer.Fault = &protocol.Fault{Name: protocol.Overloaded}
			} else {
				held += ask.Count
			}
			does(answer)
		}
		for _, seq := range kernel.SortedKeys(s.subs.pending) {
			does(message.SubscribeURIResult{Seq: seq})
		}
		if asked != c.asked || held != c.held || len(has) != c.has || len(s.subs.active) != c.has || answers != len(c.requests) {
			t.Errorf("%s: asked %d times, holds %d, subscribed to %v, %d answers to %d requests", name, asked, held, has, answers, len(c.requests))
		}
		does(message.EndSession{Exchange: &downstream.Exchange{}, Admitted: message.Admitted{Who: s.principal.who, Epoch: 7}})
		does(kernel.Stopping{})
		if held != 0 || !gone {
			t.Errorf("%s: when the client has ended the session it holds %d; answered: %v", name, held, gone)
		}
	}
}

// A subscribe whose client unsubscribed while it waited fails if the resource has been removed meanwhile or is not listed.
func TestUnsubscribedAndGone(t *testing.T) {
	server := &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true, Capabilities: []byte(`{"resources":{"subscribe":true}}`)}
	naming := catalog.Naming{URIStyle: "original", PageSize: 10, Unlisted: "mentioned"}
	listed, unlisted := catalog.Source{Server: server}, catalog.Source{Server: server}
	listed.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///r","name":"r"}`)}
	unlisted.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///other","name":"r"}`)}
	for name, next := range map[string][]catalog.Source{"gone": nil, "not listed": {unlisted}} {
		s := ofAlice(t, key("alice", nil))
		step(s, time.Now(), message.Published{Snapshot: catalog.Build(nil, []catalog.Source{listed}, naming)}, nil)
		for _, method := range []string{"subscribe", "unsubscribe"} {
			x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
			x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"resources/`+method+`","params":{"uri":"file:///r"}}`)
			step(s, time.Unix(5000, 0), message.Inbound{Exchange: x, Admitted: message.Admitted{Who: s.principal.who, Epoch: 7}}, nil)
		}
		step(s, time.Unix(5001, 0), message.Published{Snapshot: catalog.Build(nil, next, naming)}, nil)
		if found, fault := s.catalog.view.Resource("file:///r"); next != nil && (fault != nil || !found.Unlisted) {
			t.Fatalf("it is found as %+v, %v", found, fault)
		}
		for _, seq := range kernel.SortedKeys(s.subs.reserving) {
			out := step(s, time.Unix(5002, 0), message.ReserveSubscriptionsResult{Seq: seq}, nil)
			_, back := out[0].Msg.(message.ReleaseSubscriptions)
			if a, is := out[len(out)-1].Act.(reply.Answer); !back || !is || !strings.Contains(string(a.Frame), "Resource not found") {
				t.Errorf("%s: got %+v, want the reservation returned, and an error", name, out)
			}
		}
	}
}
