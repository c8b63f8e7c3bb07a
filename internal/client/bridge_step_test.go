package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// bridgeTalk drives a bridgeState.
type bridgeTalk struct {
	*bridgeState
	t *testing.T
}

func newBridgeTalk(t *testing.T) *bridgeTalk {
	s := newBridgeState()
	s.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &bridgeTalk{s, t}
}

func (b *bridgeTalk) frame(raw string) protocol.Frame {
	b.t.Helper()
	f := actortest.Frame(b.t, `{"jsonrpc":"2.0",`+raw+`}`)
	return f
}

func (b *bridgeTalk) say(raw string) { b.t.Helper(); b.client(b.frame(raw)) }

// hear delivers a message of the gateway on a link, in the response to ticket (0 for none).
func (b *bridgeTalk) hear(gen, ticket uint64, raw string) {
	b.t.Helper()
	b.link(gen, upstream.Received{Ticket: ticket, Frame: b.frame(raw)})
}

// after advances the time and handles timers.
func (b *bridgeTalk) after(d time.Duration) {
	b.now = b.now.Add(d)
	b.tick()
}

// want compares the effects since the last call. Each effect must start with the corresponding line.
func (b *bridgeTalk) want(lines ...string) {
	b.t.Helper()
	var got []string
	for _, e := range b.out {
		switch e := e.(type) {
		case bridgeTell:
			got = append(got, "tell "+strings.TrimPrefix(string(e.frame), `{"jsonrpc":"2.0",`))
		case bridgeSend:
			got = append(got, fmt.Sprintf("send %d #%d %s", e.gen, e.o.Ticket, strings.TrimPrefix(string(e.o.Frame), `{"jsonrpc":"2.0",`)))
		case bridgeEnd:
			got = append(got, fmt.Sprintf("End %v", e.err))
		default:
			got = append(got, strings.TrimPrefix(fmt.Sprintf("%T%v", e, e), "client.bridge"))
		}
	}
	b.out = nil
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || !strings.HasPrefix(got[i], lines[i]) {
			b.t.Fatalf("effects\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
}

const bridgeHelloText = `"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}`

// ready completes the handshake. The next ticket is 3.
func (b *bridgeTalk) ready() {
	b.t.Helper()
	b.say(bridgeHelloText)
	b.want("OpenUp{1}", "send 1 #1 "+bridgeHelloText)
	b.link(1, upstream.Written{Ticket: 1})
	b.hear(1, 1, `"id":0,"result":{"protocolVersion":"2025-11-25"}`)
	b.want(`tell "id":0,"result"`, "Speak{1 2025-11-25}")
	b.say(`"method":"notifications/initialized"`)
	b.want(`send 1 #2 "method":"notifications/initialized"`)
	b.link(1, upstream.Ended{Ticket: 2})
	b.want("Listen{1}")
}

func TestBridgePasses(t *testing.T) {
	b := newBridgeTalk(t)
	b.say(`"id":"p","method":"ping"`)
	b.want(`tell "id":"p","result":{}`)
	b.say(`"id":1,"method":"server/discover"`)
	b.want(`tell "id":1,"error":{"code":-32601`)
	b.say(`"id":1,"method":"tools/list"`)
	b.want(`tell "id":1,"error":{"code":-32600`)
	b.say(`"method":"notifications/initialized"`)
	b.ready()
	b.say(`"id":9,"method":"initialize"`)
	b.want(`tell "id":9,"error":{"code":-32600`)

	// Messages are sent one after the other: each waits until the previous request is written, or the previous
	// notification accepted.
	b.say(`"id":1,"method":"tools/call","params":{"name":"a" , "x":1}`)
	b.say(`"method":"notifications/cancelled","params":{"requestId":7}`)
	b.say(`"id":2,"method":"x/y"`)
	b.want(`send 1 #3 "id":1,"method":"tools/call","params":{"name":"a" , "x":1}}`)
	b.link(1, upstream.Written{Ticket: 3})
	b.want(`send 1 #4 "method":"notifications/cancelled"`)
	b.link(1, upstream.Written{Ticket: 4})
	b.want()
	b.link(1, upstream.Ended{Ticket: 4})
	b.want(`send 1 #5 "id":2,"method":"x/y"`)
	b.say(`"id":1,"method":"tools/list"`)
	b.want(`tell "id":1,"error":{"code":-32600,"message":"the id is already in use"`)
	b.hear(1, 3, `"method":"notifications/progress","params":{"progressToken":1}`)
	b.hear(1, 0, `"id":2,"result":{"a" : 1}`) // the response arrives on a different stream
	b.hear(1, 3, `"id":1,"error":{"code":-1,"message":"no"}`)
	b.hear(1, 3, `"id":1,"result":{}`) // a second response is dropped
	b.hear(1, 0, `"id":77,"result":{}`)
	b.want(`tell "method":"notifications/progress"`, `tell "id":2,"result":{"a" : 1}}`, `tell "id":1,"error":{"code":-1`)

	// An error response to a request that the gateway did not parse has no id. The HTTP exchange shows which request
	// it belongs to.
	b.say(`"id":3,"method":"tools/call"`)
	b.want(`send 1 #6`)
	b.link(1, upstream.Received{Ticket: 6, Last: true, Status: 413, Frame: b.frame(`"id":null,"error":{"code":-32600,"message":"Message too large"}`)})
	b.want(`tell "id":3,"error":{"code":-32600,"message":"Message too large"}}`)

	// A request of the server reaches the client. Only the client's first response to it is forwarded.
	b.hear(1, 0, `"id":1,"method":"roots/list"`)
	b.want(`tell "id":1,"method":"roots/list"`)
	b.say(`"id":1,"result":{"roots":[]}`)
	b.say(`"id":1,"result":{"roots":[]}`)
	b.want(`send 1 #7 "id":1,"result":{"roots":[]}`)
	b.end()
	b.want("End <nil>")
}

// If the gateway no longer knows the idle session, the next request is executed in a new session, and the client's log
// level and subscriptions are restored.
func TestBridgeRejoins(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	for i, request := range []string{
		`"id":1,"method":"logging/setLevel","params":{"level":"info"}`,
		`"id":2,"method":"resources/subscribe","params":{"uri":"a:b"}`,
		`"id":3,"method":"resources/subscribe","params":{"uri":"a:c"}`,
		`"id":4,"method":"resources/unsubscribe","params":{"uri":"a:c"}`,
	} {
		b.say(request)
		b.hear(1, uint64(3+i), fmt.Sprintf(`"id":%d,"result":{}`, i+1))
	}
	b.out = nil
	b.now = b.now.Add(bridgeLong)
	b.say(`"id":5,"method":"tools/call"`)
	b.want(`send 1 #7 "id":5,"method":"tools/call"`)
	b.link(1, upstream.Written{Ticket: 7})
	b.link(1, upstream.SessionLost{Ticket: 7})
	b.link(1, upstream.Ended{Ticket: 7, Err: upstream.ErrSessionLost})
	b.want("Drop{1}")
	b.after(0)
	b.want("OpenUp{2}", "send 2 #8 "+bridgeHelloText)
	b.say(`"id":6,"method":"tools/list"`)
	b.want()
	b.hear(2, 8, `"id":0,"result":{"protocolVersion":"2025-11-25"}`)
	b.want("Speak{2 2025-11-25}", `tell "method":"notifications/tools/list_changed"`, `tell "method":"notifications/prompts/list_changed"`,
		`tell "method":"notifications/resources/list_changed"`, `send 2 #11 "method":"notifications/initialized"`)
	b.link(2, upstream.Ended{Ticket: 11})
	b.want("Listen{2}", `send 2 #12 "id":"goblin-bridge-9","method":"logging/setLevel","params":{"level":"info"}`)
	b.hear(2, 12, `"id":"goblin-bridge-9","result":{}`)
	b.want(`send 2 #13 "id":"goblin-bridge-10","method":"resources/subscribe","params":{"uri":"a:b"}`)
	b.link(2, upstream.Written{Ticket: 13})
	b.want(`send 2 #14 "id":5,"method":"tools/call"`)
	b.hear(2, 14, `"id":5,"result":{}`)
	b.want(`tell "id":5,"result":{}`, `send 2 #15 "id":6`)
	// The server is still starting, so the bridge retries.
	b.hear(2, 13, `"id":"goblin-bridge-10","error":{"code":-32002,"message":"no"}`)
	b.want()
	b.after(bridgeAgainIn - 1)
	b.want()
	b.link(2, upstream.Written{Ticket: 15})
	b.after(1)
	b.want(`send 2 #17 "id":"goblin-bridge-16","method":"resources/subscribe"`)
	b.hear(2, 17, `"id":"goblin-bridge-16","result":{}`)
	b.want(`tell "method":"notifications/resources/updated","params":{"uri":"a:b"}`)
	const notFound = `"id":6,"error":{"code":-32602,"message":"no","data":{"code":"TOOL_NOT_FOUND"}}`
	b.hear(2, 15, notFound)
	b.say(`"id":6,"method":"x"`)
	b.want(`tell "id":6,"error":{"code":-32600`)
	b.after(bridgeAgainIn)
	b.want(`send 2 #18 "id":6`)
	b.hear(2, 18, `"id":6,"error":{"code":-31001,"message":"starting","data":{"code":"SERVER_UNAVAILABLE","retryable":true}}`)
	b.want()
	b.after(bridgeAgainIn)
	b.want(`send 2 #19 "id":6`)
	b.now = b.now.Add(bridgeSettle)
	b.hear(2, 19, notFound)
	b.want(`tell ` + notFound)
}

// If the gateway dies, sent requests fail, and others wait for the next gateway or fail after the time limit.
func TestBridgeGatewayDies(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	b.now = b.now.Add(bridgeLong)
	b.say(`"id":1,"method":"tools/call"`)
	b.link(1, upstream.Written{Ticket: 3})
	b.say(`"id":2,"method":"resources/read"`)
	b.link(1, upstream.Written{Ticket: 4})
	b.hear(1, 3, `"id":1,"method":"elicitation/create"`)
	b.out = nil
	b.link(1, upstream.Ended{Ticket: 3, Err: io.ErrUnexpectedEOF})
	b.want(`tell "id":1,"error":{"code":-31003,"message":"The connection to the gateway was lost after the request was sent","data":{"code":"BACKEND_DISCONNECTED","server":null,"retryable":false}}`,
		`send 1 #6 "id":"goblin-bridge-5","method":"ping"`)
	b.say(`"id":3,"method":"tools/list"`)
	b.want(`send 1 #7 "id":3`)
	b.link(1, upstream.NotSent{Ticket: 7, Err: errors.New("refused")})
	b.link(1, upstream.NotSent{Ticket: 6, Err: errors.New("refused")})
	b.after(0)
	b.want("OpenUp{2}", "send 2 #8")
	b.link(2, upstream.NotSent{Ticket: 8, Err: errors.New("refused")})
	b.want("Drop{2}")
	b.link(1, upstream.Ended{Ticket: 4, Err: upstream.ErrNoAnswer}) // the older link was kept open for it
	b.want(`tell "id":2,"error":{"code":-31003`, `tell "method":"notifications/cancelled","params":{"requestId":1,"reason":"the connection to the gateway was lost"}`, "Drop{1}")
	if left := b.next().Sub(b.now); left != bridgeMin {
		t.Errorf("next attempt in %v", left)
	}
	b.after(bridgeMin - 1)
	b.want()
	b.after(1)
	b.want("OpenUp{3}", "send 3 #9")
	b.say(`"id":1,"result":{"action":"accept"}`) // answers a request of the dead gateway
	b.want()
	b.after(bridgeHold - bridgeMin)
	b.want(`tell "id":3,"error":{"code":-31001,"message":"the gateway is not reachable, so the request was not sent: refused","data":{"code":"SERVER_UNAVAILABLE","server":null,"retryable":true}}`)
	b.after(bridgeOpen)
	b.want("Drop{3}")
	b.after(bridgeMax)
	b.want("OpenUp{4}", "send 4 #10")
}

// A draining gateway rejects new requests, which the bridge keeps for the next gateway. Running requests may still be
// answered.
func TestBridgeDrain(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	b.now = b.now.Add(bridgeLong)
	b.say(`"id":1,"method":"tools/call"`)
	b.link(1, upstream.Written{Ticket: 3})
	b.say(`"id":2,"method":"tools/call"`)
	b.out = nil
	b.hear(1, 4, `"id":2,"error":{"code":-31007,"message":"bye","data":{"code":"SHUTTING_DOWN","retryable":true}}`)
	b.want()
	b.after(0)
	b.want("OpenUp{2}", "send 2 #5")
	b.hear(2, 5, `"id":0,"error":{"code":-31007,"message":"bye","data":{"code":"SHUTTING_DOWN","retryable":true}}`)
	b.want("Drop{2}")
	b.say(`"method":"notifications/cancelled","params":{"requestId":1}`)
	b.want(`send 1 #6 "method":"notifications/cancelled"`)
	b.hear(1, 3, `"id":1,"result":{}`)
	b.link(1, upstream.Ended{Ticket: 6})
	b.want(`tell "id":1,"result":{}`, "Drop{1}")
	b.say(`"method":"notifications/cancelled","params":{"requestId":2}`) // canceled while it waits
	b.after(bridgeMin)
	b.want("OpenUp{3}", "send 3 #7")
	b.hear(3, 7, `"id":0,"result":{"protocolVersion":"2024-11-05"}`)
	b.want("End " + errBridgeVersion.Error())
}

// A call that a draining gateway interrupted may have been executed, so the client gets the error and the call is not
// repeated.
func TestBridgeDrainInterruptsCall(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	b.now = b.now.Add(bridgeLong)
	b.say(`"id":1,"method":"tools/call"`)
	b.link(1, upstream.Written{Ticket: 3})
	b.out = nil
	cut := `"id":1,"error":{"code":-31007,"message":"bye","data":{"code":"SHUTTING_DOWN","retryable":false}}`
	b.hear(1, 3, cut)
	b.want("tell " + cut)
	b.after(0)
	b.want()
}

// A request of the new session is given a different id if the client still has a request with that id.
func TestBridgeQuestionIDs(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	b.hear(1, 0, `"id":1,"method":"roots/list"`)
	b.out = nil
	b.link(1, upstream.Closed{Err: io.EOF})
	b.want(`tell "method":"notifications/cancelled","params":{"requestId":1`)
	b.after(bridgeMin)
	b.hear(2, 3, `"id":0,"result":{"protocolVersion":"2025-11-25"}`)
	b.out = nil
	b.hear(2, 0, `"id":1,"method":"roots/list"`)
	b.want(`tell "id":"goblin-bridge-1","method":"roots/list"`)
	b.hear(2, 0, `"id":2,"method":"roots/list"`)
	b.hear(2, 0, `"method":"notifications/cancelled","params":{"requestId":2}`)
	b.want(`tell "id":2`, `tell "method":"notifications/cancelled","params":{"requestId":2}`)
	b.say(`"id":1,"result":{}`) // answers the request of the old session
	b.say(`"id":2,"result":{}`) // answers the withdrawn request
	b.want()
	b.say(`"id":"goblin-bridge-1","error":{"code":-1,"message":"no"}`)
	b.want(`send 2 #5 "id":1,"error":{"code":-1,"message":"no"}`)
}

// Without a gateway, initialize waits and then fails. The client may repeat it.
func TestBridgeWithoutGateway(t *testing.T) {
	b := newBridgeTalk(t)
	b.say(bridgeHelloText)
	b.want("OpenUp{1}", "send 1 #1")
	b.link(1, upstream.NotSent{Ticket: 1, Err: errors.New("refused")})
	b.want("Drop{1}")
	for gen := uint64(2); b.phase != bridgeNew; gen++ {
		b.after(b.next().Sub(b.now))
		b.link(gen, upstream.NotSent{Ticket: gen, Err: errors.New("refused")})
	}
	last := b.out[len(b.out)-1].(bridgeTell)
	if !strings.Contains(string(last.frame), `"id":0,"error":{"code":-31001,"message":"the gateway is not reachable: refused"`) {
		t.Errorf("sent the client %s", last.frame)
	}
	if !b.next().IsZero() {
		t.Error("the bridge waits for a timer, although it should be idle")
	}
	b.out = nil
	b.say(bridgeHelloText)
	b.hear(b.gen, b.last, `"id":0,"error":{"code":-32602,"message":"no"}`)
	b.say(bridgeHelloText)
	if b.phase != bridgeOpening {
		t.Errorf("phase %s", b.phase)
	}
}

// After a client has closed its input, it receives the responses that still arrive, and errors for all other requests.
func TestBridgeClientLeaves(t *testing.T) {
	b := newBridgeTalk(t)
	b.say(bridgeHelloText)
	b.say(`"method":"notifications/initialized"`)
	b.say(`"id":1,"method":"tools/list"`)
	b.end()
	b.want("OpenUp{1}", "send 1 #1")
	b.after(bridgeLeave - 1)
	b.want()
	b.after(1)
	b.want(`tell "id":0,"error":{"code":-31001`, `tell "id":1,"error":{"code":-31001`, "End <nil>")

	b = newBridgeTalk(t)
	b.ready()
	b.say(`"id":1,"method":"tools/call"`)
	b.say(`"id":2,"method":"tools/call"`)
	b.end()
	b.want("send 1 #3")
	b.link(1, upstream.Written{Ticket: 3})
	b.hear(1, 4, `"id":2,"result":{}`)
	b.want("send 1 #4", `tell "id":2,"result":{}`)
	b.after(bridgeLeave)
	b.want(`tell "id":1,"error":{"code":-31003`, "End <nil>")
}

// A silent gateway is pinged. Without a response, the session is abandoned.
func TestBridgeSilence(t *testing.T) {
	b := newBridgeTalk(t)
	b.ready()
	b.after(bridgeQuiet - 1)
	b.want()
	b.after(1)
	b.want(`send 1 #4 "id":"goblin-bridge-3","method":"ping"`)
	b.link(1, upstream.Written{Ticket: 4})
	b.hear(1, 4, `"id":"goblin-bridge-3","result":{}`)
	b.link(1, upstream.ListenFailed{Err: io.EOF, Final: true})
	b.want()
	b.link(1, upstream.ListenFailed{Err: io.EOF})
	b.want(`send 1 #6 "id":"goblin-bridge-5","method":"ping"`)
	b.after(bridgeProbe - 1)
	b.want()
	b.after(1)
	b.want("Drop{1}")
	b.after(0)
	b.want("OpenUp{2}", "send 2 #7")
}

// The response to a canceled call is not forwarded, and the call is not repeated.
func TestBridgeCancelled(t *testing.T) {
	for _, end := range []string{
		`"id":1,"error":{"code":-31009,"message":"Request cancelled","data":{"code":"CANCELLED","server":"x","retryable":false}}`,
		`"id":1,"error":{"code":-31007,"message":"bye","data":{"code":"SHUTTING_DOWN","retryable":true}}`,
	} {
		b := newBridgeTalk(t)
		b.ready()
		b.say(`"id":1,"method":"tools/call"`)
		b.link(1, upstream.Written{Ticket: 3})
		b.say(`"method":"notifications/cancelled","params":{"requestId":1}`)
		b.want(`send 1 #3 "id":1,"method":"tools/call"`, `send 1 #4 "method":"notifications/cancelled"`)
		b.hear(1, 3, end)
		b.link(1, upstream.Ended{Ticket: 4})
		b.want()
	}
}
