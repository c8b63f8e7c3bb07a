package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

func pick[T any](rng *rand.Rand, list []T) (one T) {
	if len(list) > 0 {
		one = list[rng.IntN(len(list))]
	}
	return one
}

// take removes a random element of the list and returns it.
func take[T any](rng *rand.Rand, list *[]T) (one T, ok bool) {
	if len(*list) == 0 {
		return one, false
	}
	i := rng.IntN(len(*list))
	one = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return one, true
}

// requests are the requests that a client may send; %d is the id. Some are invalid.
var requests = []string{
	`"id":%d,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"one_a"}`,
	`"id":%d,"method":"tools/call","params":{"name":"one_a","task":{}}`,
	`"id":%d,"method":"tools/call","params":{"name":"two_b0"}`,
	`"id":%d,"method":"tools/call","params":{"name":"one_unknown"}`,
	`"id":%d,"method":"tools/call","params":{}`,
	`"id":%d,"method":"tools/list"`,
	`"id":%d,"method":"ping"`,
	`"id":%d,"method":"resources/read","params":{"uri":"file:///r"}`,
	`"id":%d,"method":"resources/read","params":{"uri":"file:///else"}`,
	`"id":%d,"method":"resources/subscribe","params":{"uri":"file:///r"}`,
	`"id":%d,"method":"resources/subscribe","params":{"uri":"file:///r"}`,
	`"id":%d,"method":"resources/subscribe","params":{"uri":"file:///else"}`,
	`"id":%d,"method":"resources/unsubscribe","params":{"uri":"file:///r"}`,
	`"id":%d,"method":"logging/setLevel","params":{"level":"warning"}`,
	`"id":%d,"method":"tasks/list"`,
	`"id":%d,"method":"tasks/get","params":{"taskId":"one/t0"}`,
	`"id":%d,"method":"tasks/result","params":{"taskId":"one/t1"}`,
	`"id":%d,"method":"tasks/cancel","params":{"taskId":"one/t2"}`,
	`"id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25"}`,
	`"id":%d,"method":"server/discover"`,
	`"id":%d,"method":"of/absent"`,
}

// clientActs lets the client do something random.
func (r *script) clientActs() {
	switch r.rng.IntN(10) {
	case 0:
		r.send(`"method":"notifications/cancelled","params":{"requestId":%d}`, r.rng.IntN(r.lastID+1))
	case 1:
		r.send(`"method":%q`, pick(r.rng, []string{"notifications/initialized", "notifications/roots/list_changed", "notifications/else"}))
	case 2, 3:
		id := pick(r.rng, append(r.questions, "99", `"x"`))
		r.send(`"id":%s,%s`, id, pick(r.rng, []string{`"result":{"action":"accept"}`, `"error":{"code":-1,"message":"no"}`}))
	case 4:
		if r.s.transport != "sse" || r.rng.IntN(40) == 0 {
			r.streamActs()
		}
	default:
		id := r.lastID + 1
		if r.rng.IntN(6) == 0 {
			id = r.rng.IntN(r.lastID + 1)
		}
		r.lastID = max(r.lastID, id)
		r.send(pick(r.rng, requests), id)
	}
}

// streamActs lets the client open or close a stream.
func (r *script) streamActs() {
	if r.rng.IntN(2) == 0 {
		r.openStream()
		return
	}
	if stream, ok := take(r.rng, &r.streams); ok {
		r.step(message.StreamClosed{Stream: stream})
	}
}

// questionFrames are requests of servers. The client has not declared sampling.
var questionFrames = []string{
	`{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`,
	`{"jsonrpc":"2.0","id":"b","method":"roots/list"}`,
	`{"jsonrpc":"2.0","id":"b","method":"sampling/createMessage","params":{}}`,
}

// serverActs lets a server do something random about a call.
func (r *script) serverActs() {
	seq := pick(r.rng, r.running)
	frame := func(text string) protocol.Frame { return actortest.Frame(r.t, text) }
	switch r.rng.IntN(10) {
	case 0, 1:
		r.step(message.RequestWritten{Seq: seq})
	case 2:
		r.step(message.Failed{Seq: seq, Fault: pick(r.rng, []*protocol.Fault{{Name: protocol.BackendDisconnected}, {Name: protocol.Timeout}, {Name: protocol.InvalidParams}})})
	case 3, 4:
		r.step(message.Done{Seq: seq, Frame: frame(pick(r.rng, []string{
			`{"jsonrpc":"2.0","id":5,"result":{"content":[],"task":{"taskId":"t1"},"taskId":"t1"}}`,
			`{"jsonrpc":"2.0","id":5,"result":{"content":[],"isError":true}}`,
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"gone"}}`,
		}))})
	case 5:
		f, p := actortest.Request(r.t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}`)
		r.step(message.Progress{Seq: seq, Frame: f, Token: p.Token, Behind: r.rng.IntN(4) == 0})
	case 6:
		r.step(message.Log{Seq: seq, Frame: frame(pick(r.rng, logLines))})
	case 7:
		r.lastKey++
		r.step(message.ServerRequest{Seq: seq, Key: r.lastKey, Frame: frame(pick(r.rng, questionFrames))})
	case 8:
		r.step(message.ServerRequestCanceled{Seq: seq, Key: r.rng.Uint64N(r.lastKey + 1)})
	case 9:
		r.step(message.TaskMade{Seq: seq, ID: fmt.Sprint("t", r.rng.IntN(3))})
	}
}

var logLines = []string{
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}`,
}

// othersAct delivers a random message that is not about a call.
func (r *script) othersAct() {
	switch r.rng.IntN(11) {
	case 9, 10:
		r.gatewayActs(r.rng.IntN(3) > 0)
	case 0, 1:
		if seq, ok := take(r.rng, &r.subscribes); ok {
			r.step(pick(r.rng, []message.SubscribeURIResult{{Seq: seq}, {Seq: seq}, {Seq: seq, Error: []byte(`{"code":1,"message":"no"}`)}, {Seq: seq, Fault: protocol.NoResource("file:///r")}}))
		}
	case 2, 3:
		if seq, ok := take(r.rng, &r.refreshes); ok {
			r.step(message.RefreshResult{Seq: seq})
		}
	case 4:
		r.publish()
	case 5:
		u, _ := message.UpdatedURI(pick(r.rng, []string{"file:///r", "file:///r/part", "file:///else"}))
		r.step(message.ResourceUpdated{Server: "one", URI: u.URI, Frame: u.Frame, Span: u.Span})
	case 6:
		r.step(message.ResourcesUpdated{Server: "one"})
	case 7:
		r.step(message.ServerLog{Server: "one", Frame: actortest.Frame(r.t, pick(r.rng, logLines))})
	case 8:
		note := `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"t1","status":"working"}}`
		r.step(message.TaskNotification{Server: "one", ID: "t1", Frame: actortest.Frame(r.t, note)})
	}
}

// gatewayActs delivers answers of the gateway: to a reservation, which it grants if yes is true, and to a level change.
func (r *script) gatewayActs(yes bool) {
	if seq, ok := take(r.rng, &r.levels); ok {
		r.step(message.SetSessionLevelResult{Seq: seq})
	}
	ask, ok := take(r.rng, &r.asks)
	switch {
	case !ok || r.left:
	case yes:
		r.holds += ask.Count
		r.step(message.ReserveSubscriptionsResult{Seq: ask.Seq})
	default:
		r.step(message.ReserveSubscriptionsResult{Seq: ask.Seq, Fault: &protocol.Fault{Name: protocol.Overloaded}})
	}
}

func (r *script) act() {
	switch n := r.rng.IntN(100); {
	case n < 40:
		r.clientActs()
	case n < 70:
		r.serverActs()
	case n < 88:
		r.othersAct()
	case n < 97:
		r.pass(time.Duration(r.rng.IntN(20)) * time.Second)
	case n < 98:
		r.pass(time.Duration(r.rng.IntN(20)) * time.Minute)
	case n < 99:
		r.step(message.Abort{Seq: pick(r.rng, r.running)})
	default:
		r.rest()
	}
}

// rest does something rare that may end the session.
func (r *script) rest() {
	switch r.rng.IntN(5) {
	case 0:
		r.step(message.CloseIfIdle{})
	case 1:
		r.step(message.DrainSession{})
	case 2:
		x := &downstream.Exchange{}
		if !r.left {
			r.exchanges = append(r.exchanges, x)
		}
		r.step(message.EndSession{Exchange: x, Admitted: message.Admitted{Who: r.s.principal.who}})
	case 3:
		r.step(message.Inspect{Reply: func(any) {}})
	case 4:
		r.step(message.QueryIdleSince{})
	}
}

// settle delivers all outstanding answers of pools, servers and the gateway, opens a stream unless the transport is HTTP+SSE,
// and lets three hours pass.
func (r *script) settle() {
	for i := 0; i < len(r.running); i++ {
		r.step(message.Done{Seq: r.running[i], Frame: actortest.Frame(r.t, `{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"gone"}}`)})
	}
	for len(r.subscribes)+len(r.refreshes)+len(r.asks)+len(r.levels) > 0 && !r.left {
		r.gatewayActs(true)
		if seq, ok := take(r.rng, &r.subscribes); ok {
			r.step(message.SubscribeURIResult{Seq: seq})
		}
		if seq, ok := take(r.rng, &r.refreshes); ok {
			r.step(message.RefreshResult{Seq: seq})
		}
	}
	r.reads = true
	if r.s.transport != "sse" {
		if len(r.streams) > 0 {
			r.step(message.StreamClosed{Stream: r.streams[0]})
		}
		r.openStream()
	}
	r.pass(3 * time.Hour)
}

// empty fails the test if an idle session still holds anything of a finished request.
func (r *script) empty() {
	if r.left {
		return
	}
	s := r.s
	if n := s.calls.Len() + s.calls.Indexed() + len(s.questions.open) + len(s.subs.pending) + len(s.subs.reserving) + len(s.client.pendingLevels) + len(s.calls.Waiting()); n > 0 || s.client.earlyInitialize != nil {
		r.fatalf("left: %d calls, %d ids, %d questions, %d subscribes, %d that wait for lists, an initialize: %v",
			s.calls.Len(), s.calls.Indexed(), len(s.questions.open), len(s.subs.pending)+len(s.subs.reserving), len(s.calls.Waiting()), s.client.earlyInitialize != nil)
	}
	if r.armed() || s.subs.waiting > 0 && s.transport != "sse" { // the stream of an sse session takes everything
		r.fatalf("the clock runs: %v; %d updates are kept although there is a stream", r.armed(), s.subs.waiting)
	}
	for id, task := range s.tasks.known {
		if id != admission.PublicTaskID(task.server, task.own) {
			r.fatalf("task %s is kept as %s", task.own, id)
		}
	}
}
