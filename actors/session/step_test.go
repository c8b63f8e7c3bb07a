package session

import (
	"cmp"
	"encoding/json"
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

// conversation passes messages to a session and describes their effects.
type conversation struct {
	t *testing.T
	s *state
}

func newConversation(t *testing.T, transport string) *conversation {
	t.Helper()
	return &conversation{t: t, s: newState(Options{ID: "session", Transport: transport, Limits: config.Default().Limits}, kernel.Reference{})}
}

// askingServer is a catalog of one server with one tool, and one resource in a list that changes without notification.
func askingServer() message.Published { return askingServerWith("") }

// askingServerWith is askingServer with a rule for resources that are in no list.
func askingServerWith(unlisted string) message.Published {
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object"}}`)}
	source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///r","name":"r"}`)}
	source.Silent[protocol.Resources] = true
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10, Unlisted: unlisted}
	return message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, naming)}
}

const (
	hello  = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	callOf = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":7}}}`
	asking = `{"jsonrpc":"2.0","id":"b","method":%q,"params":{"message":"?","requestedSchema":{}}}`
	done   = `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`
)

// from returns a message of the client.
func (k *conversation) from(format string, args ...any) message.Inbound {
	k.t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
	x.Frame = actortest.Frame(k.t, fmt.Sprintf(format, args...))
	if x.Frame.Kind == protocol.KindRequest || x.Frame.Kind == protocol.KindNotification {
		x.Frame, x.Params = actortest.Request(k.t, string(x.Frame.Raw))
	}
	return message.Inbound{Exchange: x}
}

// step returns a description of the effects of a message.
func (k *conversation) step(msg any) string {
	k.t.Helper()
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, e := range step(k.s, time.Unix(1000, 0), msg, nil) {
		switch a := e.Act.(type) {
		case reply.Answer:
			say("%s", k.judge(a))
		case reply.Accept:
			say("accepted")
		case refuse:
			say("%d", a.status)
		case tellNodes:
			say("tells %s %s%s", a.hint.Kind, a.hint.Request, a.hint.Level)
		case refuseEnded:
			say("ended")
		case askHome:
			say("asks home")
		case homeAnswer:
			say("answers %q %s", a.Life, a.HomeAnswer.Level)
		case reply.Notify:
			f := actortest.Frame(k.t, string(a.Frame))
			say("%s", f.MethodText())
		case openStream:
			say("stream %d", a.refusal)
		case push:
			say("%s", a.method)
		case kernel.SelfStop:
			say("leaves")
		}
		switch m := e.Msg.(type) {
		case message.SetSessionLevel:
			say("level %s", m.Level)
		case message.RootsChanged:
			say("roots")
		case message.Dispatch:
			say("dispatched")
		case message.Cancel:
			say("cancelled")
		case message.ServerRequestResult:
			say("replied")
		case message.SubscribeURI:
			say("subscribing")
		case message.Refresh:
			say("refreshing")
		}
	}
	return strings.Join(words, ", ")
}

// judge returns a word for the kind of an answer.
func (k *conversation) judge(a reply.Answer) string {
	k.t.Helper()
	f := actortest.Frame(k.t, string(a.Frame))
	if string(f.IDBytes()) != string(a.X.Frame.IDBytes()) {
		k.t.Fatalf("answer %s to request %s", a.Frame, a.X.Frame.Raw)
	}
	if f.Kind == protocol.KindError {
		var body struct {
			Code int
			Data struct{ Code string }
		}
		if err := json.Unmarshal(f.ErrorBytes(), &body); err != nil {
			k.t.Fatal(err)
		}
		return cmp.Or(body.Data.Code, fmt.Sprint(body.Code))
	}
	return "result"
}

// Each line is one conversation and the effects of its last message.
func TestSessionStep(t *testing.T) {
	type conv = *conversation
	say := func(format string, args ...any) func(conv) any {
		return func(k conv) any { return k.from(format, args...) }
	}
	tell := func(msg any) func(conv) any { return func(conv) any { return msg } }
	published := tell(askingServer())
	ask := func(key uint64, method string) func(conv) any {
		return func(k conv) any {
			return message.ServerRequest{Seq: 1, Key: key, Frame: actortest.Frame(k.t, fmt.Sprintf(asking, method))}
		}
	}
	reply := say(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`)
	cancel := say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	call, ping := say(callOf, 1, "one_ask"), say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	answer := func(k conv) any { return message.Done{Seq: 1, Frame: actortest.Frame(k.t, done)} }
	elsewhere := func(k conv) any {
		m := k.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		m.Exchange.Origin.Path = "/s/other"
		return m
	}
	open := []func(conv) any{published, say(hello)}
	called := append(open[:2:2], call)
	read := say(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///x"}}`)
	subscribe := say(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///r"}}`)
	update, _ := message.UpdatedURI("file:///r")
	updated := tell(message.ResourceUpdated{Server: "one", URI: update.URI, Frame: update.Frame, Span: update.Span})
	stream := tell(message.StreamOpened{Stream: &downstream.EventStream{Origin: downstream.Origin{Path: "/mcp"}}})
	subscribed := append(open[:2:2], subscribe, tell(message.SubscribeURIResult{Seq: 1}))
	parked := append(called[:3:3], ask(1, "elicitation/create"))
	for _, test := range []struct {
		name, transport string
		before          []func(conv) any
		last            func(conv) any
		want            string
	}{
		{"initialize", "http", open[:1], say(hello), "result"},
		{"initialize before there is a catalog", "http", nil, say(hello), ""},
		{"the catalog for a waiting initialize", "http", []func(conv) any{say(hello)}, published, "result"},
		{"initialize twice while it waits", "http", []func(conv) any{say(hello)}, say(hello), "400"},
		{"initialize twice", "http", open, say(hello), "400"},
		{"initialize without a version", "http", open[:1], say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), "200, leaves"},
		{"initialize without a version over stdio", "stdio", open[:1], say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`), "INVALID_PARAMS"},
		{"ping before initialize", "http", nil, ping, "result"},
		{"a call before initialize", "http", open[:1], call, "400"},
		{"a ping on another path", "http", open, elsewhere, "404"},
		{"an unknown method", "http", open, say(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`), "METHOD_NOT_FOUND"},
		{"a call", "http", open, call, "dispatched"},
		{"a call of an unknown tool", "http", open, say(callOf, 1, "two_ask"), "TOOL_NOT_FOUND"},
		{"an id in use", "http", called, call, "400"},
		{"the answer of a call", "http", called, answer, "result"},
		{"the answer of a call, twice", "http", append(called[:3:3], answer), answer, ""},
		{"a call canceled over HTTP", "http", called, cancel, "accepted, cancelled, CANCELLED"},
		{"a call canceled over stdio", "stdio", called, cancel, "accepted, cancelled, accepted"},
		{"a call canceled after its end", "http", append(called[:3:3], answer), cancel, "accepted"},
		{"a question", "http", called, ask(1, "elicitation/create"), "elicitation/create"},
		{"a question that the client cannot answer", "http", called, ask(1, "sampling/createMessage"), "replied"},
		{"a question of a call that is over", "http", append(called[:3:3], answer), ask(1, "elicitation/create"), "replied"},
		{"the reply to a question", "http", parked, reply, "accepted, replied"},
		{"the reply to a question, twice", "http", append(parked[:4:4], reply), reply, "accepted"},
		{"a call ends before the reply to its question", "http", parked, answer, "notifications/cancelled, result"},
		{"the reply to a question of a call that is over", "http", append(parked[:4:4], answer), reply, "accepted"},
		{"a question is withdrawn", "http", parked, tell(message.ServerRequestCanceled{Seq: 1, Key: 1}), "notifications/cancelled"},
		{"an unknown resource", "http", open, read, "refreshing, refreshing"},
		{"an unknown resource after its lists were fetched again", "http", append(open[:2:2], read, tell(message.RefreshResult{Seq: 2})), tell(message.RefreshResult{Seq: 3}), "RESOURCE_NOT_FOUND"},
		{"a subscription", "http", open, subscribe, "subscribing"},
		{"a subscription that its server accepts", "http", append(open[:2:2], subscribe), tell(message.SubscribeURIResult{Seq: 1}), "result"},
		{"a subscription that its server refuses", "http", append(open[:2:2], subscribe), tell(message.SubscribeURIResult{Seq: 1, Error: []byte(`{"code":-7,"message":"no"}`)}), "-7"},
		{"a resource update without a stream", "http", subscribed, updated, ""},
		{"a stream after a resource update", "http", append(subscribed[:4:4], updated), stream, "stream 0, notifications/resources/updated"},
		{"a resource update on a stream", "http", append(subscribed[:4:4], stream), updated, "notifications/resources/updated"},
		{"a stream before initialize", "http", open[:1], stream, "stream 400"},
		{"the first stream of HTTP+SSE", "sse", nil, stream, "stream 0"},
		{"the second stream of HTTP+SSE", "sse", []func(conv) any{stream}, stream, "stream 405"},
		{"drained, nothing runs", "http", open, tell(message.DrainSession{}), "leaves"},
		{"drained, a call runs", "http", called, tell(message.DrainSession{}), ""},
		{"the answer of a call while the session drains", "http", append(called[:3:3], tell(message.DrainSession{})), answer, "result, leaves"},
		{"a call while the session drains", "http", append(called[:3:3], tell(message.DrainSession{})), say(callOf, 2, "one_ask"), "SHUTTING_DOWN"},
		{"an operator ends a call", "http", called, tell(message.Abort{Seq: 1}), "cancelled, INTERNAL_ERROR"},
		{"stopped while a call waits for a reply", "http", parked, tell(kernel.Stopping{}), "cancelled, notifications/cancelled, SHUTTING_DOWN"},
		{"closed if idle, nothing runs", "http", open, tell(message.CloseIfIdle{}), "leaves"},
		{"closed if idle, a call runs", "http", called, tell(message.CloseIfIdle{}), ""},
		{"a session of HTTP+SSE is never initialized", "sse", open[:1], tell(openTimeout{}), "leaves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newConversation(t, test.transport)
			for _, msg := range test.before {
				k.step(msg(k))
			}
			if got := k.step(test.last(k)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
