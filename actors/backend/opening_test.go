package backend

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// driver drives the step function of a backend and returns summaries of the effects.
type driver struct {
	t    *testing.T
	s    *state
	note uint64 // ticket of notifications/initialized
}

// step applies a message. It returns the methods of written frames, "listen" for an opened stream, and "ready" for that phase.
func (o *driver) step(msg any) (did []string) {
	for _, e := range step(o.s, time.Unix(0, 0), msg, nil) {
		switch a := e.Act.(type) {
		case write:
			did = append(did, a.out.Method)
			if a.out.Method == protocol.NotificationInitialized.String() {
				o.note = a.out.Ticket
			}
		case listen:
			did = append(did, "listen")
		}
		if m, ok := e.Msg.(message.BackendChanged); ok && m.Phase == message.Ready {
			did = append(did, "ready")
		}
	}
	return did
}

func (o *driver) want(msg any, want ...string) {
	o.t.Helper()
	if got := o.step(msg); !slices.Equal(got, want) {
		o.t.Fatalf("%T: did %q, want %q", msg, got, want)
	}
}

func (o *driver) frame(text string) linkEvent {
	o.t.Helper()
	f := actortest.Frame(o.t, text)
	return linkEvent{1, upstream.Received{Frame: f}}
}

func opened(t *testing.T, kind string, catalog bool) *driver {
	o := &driver{t: t, s: newState(Options{Server: cfg(), Catalog: catalog, Transport: kind}, kernel.Reference{}, new(uint64))}
	o.step(kernel.Started{})
	o.step(message.Connect{})
	o.want(linkEvent{1, upstream.Opened{}}, "initialize")
	return o
}

const (
	welcome = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`
	changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
)

// Over HTTP, nothing is sent until notifications/initialized has been answered, and then neither requests for lists nor
// calls are sent until the stream is open or refused, because some servers send their questions on it. After openingTime,
// requests are sent anyway. MCP 2025-11-25, basic/lifecycle.
func TestOpeningOverHTTP(t *testing.T) {
	for name, ends := range map[string]upstream.Event{
		"open":    upstream.Listening{},
		"refused": upstream.ListenFailed{Err: errors.New("405"), Final: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := opened(t, "http", true)
			o.want(o.frame(welcome), "notifications/initialized")
			o.want(o.frame(changed))
			o.want(linkEvent{1, upstream.Ended{Ticket: o.note + 100}})
			o.want(linkEvent{1, upstream.Ended{Ticket: o.note}}, "listen")
			o.want(o.frame(changed))
			o.want(linkEvent{1, ends}, "tools/list")
			o.want(linkEvent{1, upstream.Listening{}}) // opened again later: nothing is sent
			o.want(openingExpired{1})
			o.want(o.frame(`{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}`), "ready")
		})
	}
	t.Run("sse", func(t *testing.T) { // its stream is open, but POST requests can overtake each other
		o := opened(t, "sse", true)
		o.want(o.frame(welcome), "notifications/initialized")
		o.want(linkEvent{1, upstream.Ended{Ticket: o.note}}, "listen")
		o.want(linkEvent{1, upstream.Listening{}}, "tools/list")
	})
	t.Run("calls only", func(t *testing.T) {
		o := opened(t, "http", false)
		o.want(o.frame(welcome), "notifications/initialized")
		o.want(linkEvent{1, upstream.Ended{Ticket: o.note, Err: errors.New("400")}}, "listen")
		o.want(linkEvent{1, upstream.Listening{}}, "ready")
	})
	t.Run("slow", func(t *testing.T) {
		o := opened(t, "http", true)
		o.want(o.frame(welcome), "notifications/initialized")
		o.want(openingExpired{2})
		o.want(openingExpired{1}, "listen", "tools/list")
		o.want(linkEvent{1, upstream.Ended{Ticket: o.note}})
		o.want(linkEvent{1, upstream.Listening{}})
	})
	t.Run("slow stream", func(t *testing.T) {
		o := opened(t, "http", true)
		o.want(o.frame(welcome), "notifications/initialized")
		o.want(linkEvent{1, upstream.Ended{Ticket: o.note}}, "listen")
		o.want(openingExpired{1}, "tools/list")
	})
	t.Run("never sent", func(t *testing.T) { // some servers send no messages of their own before that, so a new connection is opened
		for _, late := range []bool{false, true} {
			o := opened(t, "http", true)
			o.want(o.frame(welcome), "notifications/initialized")
			if late {
				o.want(openingExpired{1}, "listen", "tools/list")
			}
			o.step(linkEvent{1, upstream.NotSent{Ticket: o.note, Err: errors.New("connection refused")}})
			if o.s.life.phase != message.Waiting {
				t.Errorf("late %v: phase %s, want waiting", late, o.s.life.phase)
			}
		}
		o := opened(t, "http", true)
		o.want(o.frame(welcome), "notifications/initialized")
		o.want(linkEvent{1, upstream.Ended{Ticket: o.note}}, "listen")
		o.want(linkEvent{1, upstream.NotSent{Ticket: o.note, Err: errors.New("too late")}})
	})
	t.Run("stdio keeps the order", func(t *testing.T) {
		o := opened(t, "stdio", true)
		o.want(o.frame(welcome), "notifications/initialized", "tools/list")
	})
}

// If a process ends before it has read anything, the pipe breaks first. The reason says how the process ended.
func TestProcessThatReadsNothing(t *testing.T) {
	o := opened(t, "stdio", true)
	o.want(linkEvent{1, upstream.NotSent{Ticket: 1, Err: errors.New("write |1: broken pipe")}})
	o.want(linkEvent{1, upstream.Closed{Err: &upstream.ExitError{Code: 3}}})
	if got := o.s.life.reason; o.s.life.phase != message.Waiting || !strings.Contains(got, "exited with code 3") {
		t.Errorf("%s: %s", o.s.life.phase, got)
	}
}

// Another connection of the server may report a changed list while this one is down. The next connection fetches it anyway.
func TestListChangesWithoutAConnection(t *testing.T) {
	o := opened(t, "http", true)
	o.want(o.frame(welcome), "notifications/initialized")
	o.want(linkEvent{1, upstream.Ended{Ticket: o.note}}, "listen")
	o.want(linkEvent{1, upstream.Listening{}}, "tools/list")
	o.want(message.ListStale{Kind: protocol.Tools})
	o.want(linkEvent{1, upstream.Closed{}})
	if o.s.life.phase != message.Waiting {
		t.Fatalf("phase %s", o.s.life.phase)
	}
	o.want(message.ListStale{Kind: protocol.Tools})
	o.want(message.ListStale{Kind: protocol.Prompts})
}

// A connection does not inherit state from the previous one.
func TestConnectionStartsWithoutState(t *testing.T) {
	o := syncing(t)
	o.want(o.frame(`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a"}]}}`))
	o.want(o.frame(`{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"no"}}`), "ready")
	o.step(message.Send{Call: message.CallRef{Seq: 1}, Request: request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`)})
	o.step(o.frame(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
	o.step(o.frame(`{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}`))
	o.want(linkEvent{1, upstream.Closed{Stderr: []string{"out of memory"}}})
	o.step(reconnectDue{1})
	o.step(message.Connect{})
	want := newConn(2)
	want.open, want.began = true, o.s.conn.began
	if !reflect.DeepEqual(o.s.conn, want) {
		t.Errorf("state of the second connection: %+v", o.s.conn)
	}
}
