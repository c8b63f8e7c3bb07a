package backend

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// reached returns a backend of a URL with two running calls, and the calls' ids.
func reached(t *testing.T) (b *bench, ids []uint64) {
	t.Helper()
	server := &actortest.Server{Tools: []string{"add"}, Handle: func(*pipe.Peer, protocol.Frame, []byte) {}}
	b = startOn(t, Options{Server: cfg(), Open: server.Open, Transport: "http", Catalog: true})
	b.server = server
	time.Sleep(3 * time.Second)
	for seq := range uint64(2) {
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: seq + 1}, Request: request(t, callFrame)})
	}
	synctest.Wait()
	for _, f := range server.Received("tools/call") {
		id, _ := parseID(f.IDBytes())
		ids = append(ids, uint64(id))
	}
	b.pool.Got()
	b.holder.Got()
	return b, ids
}

// If a frame is not sent, only its own call fails or returns to the pool. The other call to the same URL continues and
// gets its response.
func TestFrameThatIsNotSent(t *testing.T) {
	for name, err := range map[string]error{"over budget": stream.ErrOverBudget, "no connection": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, ids := reached(t)
				defer b.stop()
				_ = b.server.Last().Tell(upstream.NotSent{Ticket: ids[1], Err: err})
				time.Sleep(5 * time.Second)
				_ = b.server.Last().Answer(ids[0], protocol.AppendResult(nil, fmt.Append(nil, ids[0]), []byte(`{}`)))
				synctest.Wait()
				outcomes := map[uint64]string{}
				for _, msg := range b.holder.Got() {
					switch m := msg.(type) {
					case message.Failed:
						outcomes[m.Seq] += string(m.Fault.Name)
					case message.Done:
						outcomes[m.Seq] += "done"
					}
				}
				for _, msg := range b.pool.Got() {
					switch m := msg.(type) {
					case message.NotExecuted:
						outcomes[m.Call.Seq] += "returned"
					case message.BackendChanged:
						t.Errorf("phase %s: %s", m.Phase, m.Reason)
					}
				}
				want := map[error]string{stream.ErrOverBudget: "OVERLOADED"}[err]
				if want == "" {
					want = "returned"
				}
				if outcomes[1] != "done" || outcomes[2] != want || b.server.Opened() != 1 {
					t.Errorf("call 1: %q, call 2: %q, %d connections; want done, %s, 1", outcomes[1], outcomes[2], b.server.Opened(), want)
				}
			})
		})
	}
}

// line drives the step function of a ready backend that is connected to a URL.
type line struct {
	t       *testing.T
	s       *state
	now     time.Time
	tickets map[string]uint64 // ticket of the newest request, by method
	told    []string          // outcomes of calls and phases of the backend
}

func newLine(t *testing.T) *line {
	s := newState(Options{Server: cfg(), Transport: "http"}, kernel.Reference{}, new(uint64))
	s.life.phase, s.conn.open, s.conn.era, s.conn.info = message.Ready, true, protocol.EraLegacy, &message.ServerInfo{}
	return &line{t: t, s: s, now: time.Unix(1000, 0), tickets: map[string]uint64{}}
}

func (l *line) step(msg any) {
	if e, ok := msg.(upstream.Event); ok {
		msg = linkEvent{l.s.conn.incarnation, e}
	}
	for _, e := range step(l.s, l.now, msg, nil) {
		if w, ok := e.Act.(write); ok {
			l.tickets[w.out.Method] = w.out.Ticket
		}
		switch m := e.Msg.(type) {
		case message.NotExecuted:
			l.told = append(l.told, fmt.Sprint(m.Call.Seq, " returned"))
		case message.Failed:
			l.told = append(l.told, fmt.Sprint(m.Seq, " ", m.Fault.Name))
		case message.ServerRequest:
			l.told = append(l.told, fmt.Sprint(m.Seq, " asked"))
		case message.ServerRequestCanceled:
			l.told = append(l.told, fmt.Sprint(m.Seq, " no longer asked"))
		case message.BackendChanged:
			l.told = append(l.told, string(m.Phase))
		}
	}
}

// call sends a call and returns its ticket.
func (l *line) call(seq uint64) uint64 {
	l.step(message.Send{Call: message.CallRef{Seq: seq}, Request: request(l.t, callFrame)})
	return l.tickets["tools/call"]
}

func (l *line) want(told ...string) {
	l.t.Helper()
	if !slices.Equal(l.told, told) {
		l.t.Errorf("got %q, want %q", l.told, told)
	}
	l.told = nil
}

var errRefused = errors.New("connection refused")

// An unreachable URL takes no further calls, and its connection is closed when the running ones have ended.
func TestUnreachableURL(t *testing.T) {
	l := newLine(t)
	first, second := l.call(1), l.call(2)
	l.step(upstream.Written{Ticket: first})
	l.step(upstream.NotSent{Ticket: second, Err: errRefused})
	l.step(upstream.NotSent{Ticket: l.tickets["ping"], Err: errRefused})
	l.call(3)
	l.want("2 returned", "3 returned")
	l.step(reachDue{l.s.conn.incarnation}) // probed again, and delivered
	l.step(upstream.Written{Ticket: l.tickets["ping"]})
	fourth := l.call(4)
	l.want()
	l.step(upstream.Ended{Ticket: l.tickets["ping"], Err: upstream.ErrNoAnswer})
	l.step(upstream.NotSent{Ticket: fourth, Err: errRefused})
	l.step(upstream.NotSent{Ticket: l.tickets["ping"], Err: errRefused})
	l.want("4 returned")
	l.step(upstream.Ended{Ticket: first, Err: errRefused})
	l.step(reachDue{l.s.conn.incarnation})
	l.want("1 BACKEND_DISCONNECTED", string(message.Waiting))
}

// A probe that was delivered but is never answered does not prevent further probes.
func TestUnansweredProbe(t *testing.T) {
	l := newLine(t)
	l.step(upstream.NotSent{Ticket: l.call(1), Err: errRefused})
	first := l.tickets["ping"]
	l.step(upstream.Written{Ticket: first})
	l.step(upstream.NotSent{Ticket: l.call(2), Err: errRefused})
	if l.tickets["ping"] == first {
		t.Fatal("no second probe")
	}
	l.step(upstream.NotSent{Ticket: l.tickets["ping"], Err: errRefused})
	l.want("1 returned", "2 returned", string(message.Waiting))
}

// The report that a request was written may be late. If the connection is closed for another reason before it arrives, the call
// must not return to the pool, where another replica would execute it a second time.
func TestLateReportOfAWrittenRequest(t *testing.T) {
	for name, end := range map[string]func(*line){
		"session lost": func(l *line) { l.step(upstream.SessionLost{}) },
		"stopped":      func(l *line) { l.step(kernel.Stopping{}) },
		"another era": func(l *line) {
			l.step(linkEvent{l.s.conn.incarnation, upstream.Received{Ticket: l.call(2), Last: true, Status: 400, Frame: unsupported(t)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t)
			l.call(1)
			end(l)
			if slices.Contains(l.told, "1 returned") {
				t.Errorf("got %q", l.told)
			}
		})
	}
	l := newLine(t)
	l.call(1)
	l.step(upstream.Closed{Err: errRefused}) // before Closed, a link has reported everything that it wrote
	l.want("1 returned", string(message.Waiting))
}

// A server may send a request before it has read the call to which the gateway attributes the request. If the call then returns to the
// pool, because its connection has ended or its session is lost, its client is not asked any longer.
func TestQuestionOfAnUnsentCall(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(l *line, ticket uint64)
		want []string
	}{
		"closed":       {func(l *line, _ uint64) { l.step(upstream.Closed{Err: errRefused}) }, []string{"1 asked", "1 no longer asked", "1 returned", string(message.Waiting)}},
		"session lost": {func(l *line, ticket uint64) { l.step(upstream.SessionLost{Ticket: ticket}) }, []string{"1 asked", "1 no longer asked", string(message.Connecting)}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t)
			ticket := l.call(1)
			l.step(upstream.Received{Frame: actortest.Frame(t, `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{}}`)})
			c.end(l, ticket)
			l.want(c.want...)
			if n := len(l.s.questions.open); n != 0 {
				t.Errorf("%d open questions, want none", n)
			}
		})
	}
}

// unsupported returns a modern server's response to a legacy request.
func unsupported(t *testing.T) protocol.Frame {
	return actortest.Frame(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"version","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`)
}
