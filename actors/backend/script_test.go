package backend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// script applies random messages to step and checks the invariants.
type script struct {
	t   *testing.T
	s   *state
	now time.Time
	incarnation
	rng     *rand.Rand
	phase   message.Phase
	open    map[uint64]string // calls without an outcome, with their state
	asks    []uint64          // keys of the forwarded questions
	tickets []uint64          // tickets of requests on this connection
	asked   map[string]int    // number of unanswered questions on this connection, by the server's id
	timers  []any             // messages of running timers
	log     []any             // messages so far, for failure output
}

func (r *script) step(msg any) {
	r.log = append(r.log, readable(msg))
	answered := map[uint64]bool{}
	for _, e := range step(r.s, r.now, msg, nil) {
		r.effect(e)
		switch m := e.Msg.(type) {
		case message.Done:
			answered[m.Seq] = true
		case message.CallEnded:
			if answered[m.Call.Seq] {
				r.t.Fatalf("call %d was answered before its slot was free, after\n%+v", m.Call.Seq, r.log)
			}
		}
	}
	r.indexed()
}

// readable returns a message in a form that can be printed.
func readable(msg any) any {
	if m, ok := msg.(linkEvent); ok {
		if e, ok := m.event.(upstream.Received); ok {
			return fmt.Sprintf("\n%d %s", e.Ticket, e.Frame.Raw)
		}
		return fmt.Sprintf("\n%T%+v", m.event, m.event)
	}
	return fmt.Sprintf("\n%T%.40v", msg, msg)
}

func (r *script) effect(e kernel.Effect) {
	switch m := e.Msg.(type) {
	case message.BackendChanged:
		if m.Phase != r.phase && !slices.Contains(transitions[r.phase], m.Phase) {
			r.t.Fatalf("illegal transition %s → %s after\n%+v", r.phase, m.Phase, r.log)
		}
		r.phase = m.Phase
	case message.Done:
		r.outcome(m.Seq, "Done")
	case message.Failed:
		r.outcome(m.Seq, "Failed")
	case message.NotExecuted:
		r.outcome(m.Call.Seq, "Returned")
	}
	if m, ok := e.Msg.(message.ServerRequest); ok {
		if r.open[m.Seq] != "sent" {
			r.t.Fatalf("question for call %d, which is %q, after\n%+v", m.Seq, r.open[m.Seq], r.log)
		}
		r.asks = append(r.asks, m.Key)
	}
	switch a := e.Act.(type) {
	case open:
		r.incarnation, r.tickets, r.asked = a.incarnation, nil, map[string]int{}
	case kernel.Wake:
		r.timers = append(r.timers, a.Msg)
	case write:
		r.log = append(r.log, "\n  → "+string(a.out.Frame))
		r.wrote(a.out)
	}
}

// indexed checks that the indexes of questions and of calls that may ask agree with the calls.
func (r *script) indexed() {
	asks := 0
	for id, p := range r.s.conn.pending {
		_, runs := r.s.conn.mayAsk[id]
		if want := p.own == nil && len(p.questions) == 0 && !p.namesTask(); runs != want {
			r.t.Fatalf("mayAsk[%d] is %v, want %v, after\n%+v", id, runs, want, r.log)
		}
		for _, key := range p.questions {
			if a := r.s.questions.open[key]; a == nil || a.id != id {
				r.t.Fatalf("question %d of request %d: %+v, after\n%+v", key, id, a, r.log)
			}
		}
		asks += len(p.questions)
	}
	for id := range r.s.conn.mayAsk {
		if r.s.conn.pending[id] == nil {
			r.t.Fatalf("request %d has ended, but is in mayAsk, after\n%+v", id, r.log)
		}
	}
	for _, a := range r.s.questions.open {
		if a.round != nil {
			asks++
		}
	}
	if asks != len(r.s.questions.open) {
		r.t.Fatalf("%d open questions, but calls have %d, after\n%+v", len(r.s.questions.open), asks, r.log)
	}
}

// wrote checks a written frame: it is valid, and each question gets one answer.
func (r *script) wrote(o upstream.Outgoing) {
	var f protocol.Frame
	if err := f.Parse(o.Frame); err != nil {
		r.t.Fatalf("wrote %s: %v, after\n%+v", o.Frame, err, r.log)
	}
	if o.Request {
		r.tickets = append(r.tickets, o.Ticket)
	}
	if f.Kind != protocol.KindResult && f.Kind != protocol.KindError {
		return
	}
	if id := string(f.IDBytes()); r.asked[id] == 0 {
		r.t.Fatalf("answer to question %s, which is not open, after\n%+v", id, r.log)
	} else {
		r.asked[id]--
	}
}

func (r *script) outcome(seq uint64, what string) {
	if was := r.open[seq]; was != "sent" {
		r.t.Fatalf("call %d: %s, but it is %q, after\n%+v", seq, what, was, r.log)
	}
	r.open[seq] = what
}

// event returns a random event of the connection.
func (r *script) event() upstream.Event {
	ticket := uint64(r.rng.IntN(20))
	if len(r.tickets) > 0 && r.rng.IntN(4) > 0 {
		ticket = r.tickets[r.rng.IntN(len(r.tickets))]
	}
	frame := func(format string, args ...any) upstream.Event {
		f := actortest.Frame(r.t, fmt.Sprintf(format, args...))
		return upstream.Received{Frame: f, Ticket: ticket * uint64(r.rng.IntN(2)), Last: true}
	}
	switch r.rng.IntN(24) {
	case 0, 1, 2, 3, 4:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"tools":[{"name":"a"}]}}`, ticket)
	case 16:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}},"b":{"method":"sampling/createMessage","params":{}}}}}`, ticket)
	case 17:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","requestState":"s"}}`, ticket)
	case 18:
		return frame(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%d},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}}`, ticket)
	case 19:
		return frame(`{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"no"}}`, ticket, []int{-32020, -32021, -32022, -32601}[r.rng.IntN(4)])
	case 20:
		return upstream.Ended{Ticket: ticket, Err: &upstream.StatusError{Code: []int{401, 404, 503}[r.rng.IntN(3)]}}
	case 21:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"resultType":"task","taskId":"t","task":{"taskId":"t"}}}`, ticket)
	case 22:
		return frame(`{"jsonrpc":"2.0","id":%d,"result":{"status":%q,"result":{},"error":{"code":1,"message":"no"},"inputRequests":{"k%d":{"method":"sampling/createMessage","params":{}}}}}`,
			ticket, []string{"working", "input_required", "input_required", "completed", "failed", "cancelled"}[r.rng.IntN(6)], r.rng.IntN(5))
	case 23:
		return frame(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, ticket)
	case 5:
		return frame(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"no"}}`, ticket)
	case 6:
		return frame(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case 7:
		return upstream.Written{Ticket: ticket}
	case 8:
		return upstream.NotSent{Ticket: ticket, Err: errors.New("refused")}
	case 9:
		return upstream.Ended{Ticket: ticket}
	case 10:
		return upstream.SessionLost{Ticket: ticket}
	case 13:
		return upstream.Listening{}
	case 14:
		return upstream.ListenFailed{Err: errors.New("405"), Final: true}
	case 11, 12:
		if r.s.conn.open && r.s.conn.era != protocol.EraModern {
			r.asked[fmt.Sprintf(`"q%d"`, ticket)]++
		}
		return frame(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{}}`, ticket)
	}
	return upstream.Closed{Err: errors.New("gone")}
}

// After random messages and a stop, every call that was not canceled has exactly one outcome, and every transition was
// legal.
func TestRandomScripts(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		server := cfg()
		server.Protocol = []string{"legacy", "auto", "modern"}[seed/2%3]
		r := &script{t: t, s: newState(Options{Server: server, Catalog: true}, kernel.Reference{}, new(uint64)), now: time.Unix(0, 0), rng: rng,
			phase: message.Idle, open: map[uint64]string{}, asked: map[string]int{}}
		if seed%2 == 0 {
			r.s.transport, r.s.link = "http", traitsOf("http")
		}
		r.step(kernel.Started{})
		r.step(message.Connect{})
		r.step(linkEvent{r.incarnation, upstream.Opened{}})
		seq := uint64(0)
		for range 100 {
			r.now = r.now.Add(time.Duration(rng.IntN(1000)) * time.Millisecond)
			switch rng.IntN(10) {
			case 0, 1:
				seq++
				r.open[seq] = "sent"
				q := request(t, callFrame)
				q.Caller.Can = message.CanAll
				q.Modern = rng.IntN(3) == 0
				q.AsTask = !q.Modern && rng.IntN(3) == 0
				q.Follow = !q.AsTask && rng.IntN(3) == 0
				r.step(message.Send{Call: message.CallRef{Seq: seq}, Request: q})
			case 2:
				if seq > 0 {
					at := 1 + rng.Uint64N(seq)
					if r.open[at] == "sent" {
						r.open[at] = "withdrawn"
					}
					r.step(message.CancelSent{Call: message.CallRef{Seq: at}})
				}
			case 3:
				r.step(reconnectDue{r.incarnation})
				r.step(message.Connect{})
				r.step(openingExpired{r.incarnation})
				if len(r.timers) > 0 {
					r.step(r.timers[rng.IntN(len(r.timers))])
				}
			case 5:
				if len(r.asks) > 0 {
					a := message.ServerRequestResult{Key: r.asks[rng.IntN(len(r.asks))], Result: []byte("{}")}
					if rng.IntN(4) == 0 {
						a.Result, a.Error = nil, []byte(`{"code":-1,"message":"no"}`)
					}
					r.step(a)
				}
				if rng.IntN(4) == 0 {
					m := []protocol.Method{protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe}[rng.IntN(2)]
					r.step(message.Query{Key: 1 + rng.Uint64N(5), Method: m, Params: []byte(`{"uri":"a"}`)})
				}
			case 4:
				if r.phase == message.Connecting {
					r.step(linkEvent{r.incarnation, upstream.Opened{}})
				}
			default:
				r.step(linkEvent{r.incarnation, r.event()})
			}
		}
		if rng.IntN(2) == 0 {
			r.step(message.Drain{})
		}
		r.step(kernel.Stopping{})
		for seq, what := range r.open {
			if what == "sent" {
				t.Fatalf("seed %d: call %d has no outcome after\n%+v", seed, seq, r.log)
			}
		}
		if len(r.s.conn.pending)+len(r.s.conn.byCall)+len(r.s.carried.unexecuted)+len(r.s.questions.open)+len(r.s.carried.rounds)+len(r.s.conn.headerRetries)+len(r.s.conn.streams.queries) > 0 {
			t.Fatalf("seed %d: %d pending, %d by call, %d held, %d questions, %d rounds, %d headerRetries after the stop", seed,
				len(r.s.conn.pending), len(r.s.conn.byCall), len(r.s.carried.unexecuted), len(r.s.questions.open), len(r.s.carried.rounds), len(r.s.conn.headerRetries))
		}
	}
}
