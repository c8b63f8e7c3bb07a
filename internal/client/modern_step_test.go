package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// modernTalk drives a modernState.
type modernTalk struct {
	*modernState
	t *testing.T
}

func newModernTalk(t *testing.T) *modernTalk {
	s := newModernState(0)
	s.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &modernTalk{s, t}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`

func (m *modernTalk) frame(raw string) protocol.Frame {
	m.t.Helper()
	return actortest.Frame(m.t, `{"jsonrpc":"2.0",`+raw+`}`)
}

func (m *modernTalk) say(id, method, members string) {
	m.t.Helper()
	m.client(m.frame(fmt.Sprintf(`"id":%s,"method":%q,"params":{%s%s}`, id, method, modernMeta, members)))
}

func (m *modernTalk) hear(ticket uint64, last bool, raw string) {
	m.t.Helper()
	m.link(m.gen, upstream.Received{Ticket: ticket, Frame: m.frame(raw), Last: last})
}

func (m *modernTalk) after(d time.Duration) {
	m.now = m.now.Add(d)
	m.tick()
}

// want compares the effects since the last call with lines such as "send #1 tools/call now Mcp-Param-A=1" and `tell
// "id":1,…`.
func (m *modernTalk) want(lines ...string) {
	m.t.Helper()
	var got []string
	for _, e := range m.effects() {
		switch e := e.(type) {
		case bridgeTell:
			got = append(got, "tell "+strings.TrimPrefix(string(e.frame), `{"jsonrpc":"2.0",`))
		case bridgeSend:
			line := fmt.Sprintf("send #%d %s %s", e.o.Ticket, e.o.Method, e.o.Name)
			for _, h := range e.o.Headers {
				line += fmt.Sprintf(" %s=%s", h.Name, h.Value)
			}
			got = append(got, strings.TrimSpace(line))
		default:
			got = append(got, fmt.Sprintf("%T%v", e, e)[len("client.bridge"):])
		}
	}
	if !slices.EqualFunc(got, lines, strings.HasPrefix) {
		m.t.Fatalf("effects\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(lines, "\n "))
	}
}

func TestModernRequest(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "tools/call", `,"name":"now","arguments":{}`)
	m.want("OpenUp{1}", "Speak{1 2026-07-28}", "send #1 tools/call now")
	m.hear(1, false, `"method":"notifications/progress","params":{}`)
	m.hear(1, true, `"id":1,"result":{"content":[]}`)
	m.want(`tell "method":"notifications/progress"`, `tell "id":1,"result"`)
	m.say("1", "tools/list", "") // the id is free again
	m.want("send #2 tools/list")
	m.say("1", "tools/list", "")
	m.want(`tell "id":1,"error":{"code":-32600`)
}

// A canceled request is canceled at the gateway, and the client receives nothing more for it.
func TestModernCancelClosesResponse(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "tools/call", `,"name":"now"`)
	m.want("OpenUp{1}", "Speak{1 2026-07-28}", "send #1 tools/call now")
	m.client(m.frame(`"method":"notifications/cancelled","params":{"requestId":1}`))
	m.want("Cancel{1 1}")
	m.hear(1, true, `"id":1,"result":{}`)
	m.link(1, upstream.Ended{Ticket: 1, Err: errors.New("closed")})
	m.want()
}

// Unsent requests wait for the next gateway, and sent ones fail. Streams are reopened, and the client is notified that
// everything it listens for may have changed.
func TestModernClientSurvivesRestart(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "subscriptions/listen", `,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}`)
	m.say("2", "tools/call", `,"name":"now"`)
	m.want("OpenUp{1}", "Speak{1 2026-07-28}", "send #1 subscriptions/listen", "send #2 tools/call now")
	m.hear(1, false, `"method":"notifications/subscriptions/acknowledged","params":{}`)
	m.want(`tell "method":"notifications/subscriptions/acknowledged"`)
	m.after(time.Hour)
	m.hear(1, true, `"id":1,"result":{"resultType":"complete"}`) // the gateway drains
	m.link(1, upstream.Ended{Ticket: 2, Err: errors.New("reset")})
	m.want(`tell "id":2,"error":{"code":-31003`)
	m.say("3", "tools/list", "")
	m.want()
	m.after(time.Second)
	m.want("send #3 subscriptions/listen", "send #4 tools/list")
	m.link(1, upstream.NotSent{Ticket: 3, Err: errors.New("refused")})
	m.link(1, upstream.NotSent{Ticket: 4, Err: errors.New("refused")})
	m.after(time.Second)
	m.want("send #5 tools/list", "send #6 subscriptions/listen")
	m.hear(6, false, `"method":"notifications/subscriptions/acknowledged","params":{}`)
	m.want(`tell "method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`,
		`tell "method":"notifications/resources/updated","params":{"uri":"a://b","_meta":{"io.modelcontextprotocol/subscriptionId":1}}`)
	m.hear(5, true, `"id":3,"error":{"code":-32602,"message":"m","data":{"code":"SERVER_UNAVAILABLE"}}`) // its servers are starting
	m.want()
	m.after(time.Second)
	m.want("send #7 tools/list")
	m.hear(7, true, `"id":3,"result":{}`)
	m.want(`tell "id":3,"result"`)
}

// A request waits for a gateway for a limited time.
func TestModernRequestTimesOut(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "tools/list", "")
	for range 30 {
		for ticket := range m.away {
			m.link(1, upstream.NotSent{Ticket: ticket, Err: errors.New("refused")})
		}
		m.after(time.Second)
	}
	told := 0
	for _, e := range m.effects() {
		if e, ok := e.(bridgeTell); ok && strings.Contains(string(e.frame), "the gateway is not reachable, so the request was not sent: refused") {
			told++
		}
	}
	if told != 1 || !m.idle() || !m.next().Equal(m.retryAt) && !m.next().IsZero() {
		t.Errorf("%d answers, idle %v, next %v", told, m.idle(), m.next())
	}
}

// A call that is refused because of a missing header is repeated once the bridge knows the header.
func TestModernHeaderLookup(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "tools/call", `,"name":"where","arguments":{"region":"eu"}`)
	m.want("OpenUp{1}", "Speak{1 2026-07-28}", "send #1 tools/call where")
	const mismatch = `"id":1,"error":{"code":-32001,"message":"m","data":{"code":"HEADER_MISMATCH"}}`
	m.hear(1, true, mismatch)
	m.want("send #3 tools/list")
	m.hear(3, true, `"id":"goblin-bridge-2","result":{"tools":[],"nextCursor":"c"}`)
	m.want("send #5 tools/list")
	m.hear(5, true, `"id":"goblin-bridge-4","result":{"tools":[{"name":"where","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)
	m.want("send #6 tools/call where Mcp-Param-Region=eu")
	m.hear(6, true, mismatch) // the call is repeated only once
	m.want(`tell "id":1,"error"`)
}

// While the bridge looks up headers for a call, the call can be canceled, and its id is in use.
func TestModernHeaderLookupCanceled(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "tools/call", `,"name":"where","arguments":{"region":"eu"}`)
	m.hear(1, true, `"id":1,"error":{"code":-32001,"message":"m","data":{"code":"HEADER_MISMATCH"}}`)
	m.effects()
	m.say("1", "tools/list", "")
	m.want(`tell "id":1,"error":{"code":-32600`)
	m.client(m.frame(`"method":"notifications/cancelled","params":{"requestId":1}`))
	m.hear(3, true, `"id":"goblin-bridge-2","result":{"tools":[]}`)
	m.want()
	if !m.idle() {
		t.Error("the bridge still waits for a response")
	}
}

// After a client has closed its input, it gets pending responses. Open streams do not delay the end.
func TestModernClientLeaves(t *testing.T) {
	m := newModernTalk(t)
	m.say("1", "subscriptions/listen", `,"notifications":{}`)
	m.say("2", "tools/list", "")
	m.effects()
	m.end()
	m.want()
	m.hear(2, true, `"id":2,"result":{}`)
	m.want(`tell "id":2,"result"`, "End{")
}
