package actors

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// A call is cancelled while its server asks: the server hears of that alone, for Python's SDK 1 loses its session over an
// answer to its question beside it. One that ends the call in any way gets no answer any more, one that knows nothing of
// cancellations gets it late, and so does what it asks in the cancelled call meanwhile; nobody else is asked that.
func TestACancelledCallWhoseServerAsks(t *testing.T) {
	tests := []struct {
		name string
		then string // what the server does about it; %s is its id of the call
		want int    // answers a second later
	}{
		{"answers the call", `{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":"Request cancelled"}}`, 0},
		{"withdraws its question", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b0"}}`, 0},
		{"waits for the answer", "", 1},
		{"asks on", `{"jsonrpc":"2.0","id":"b1",` + elicit + `}`, 2},
	}
	for _, test := range tests {
		eachTransport(t, func(t *testing.T, http bool) {
			var ticket uint64
			server := &actortest.Server{Tools: []string{"ask"}, HandleOther: taken}
			say := func(p *pipe.Peer, line string) {
				var f protocol.Frame
				if err := f.Parse([]byte(line)); err != nil {
					t.Fatal(err)
				}
				e := upstream.Received{Frame: f}
				if http {
					e.Ticket, e.Last = ticket, f.Kind == protocol.KindError
				}
				_ = p.Tell(e)
			}
			server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				ticket, _ = strconv.ParseUint(string(id), 10, 64)
				say(p, `{"jsonrpc":"2.0","id":"b0",`+elicit+`}`)
			}
			kind := map[bool]string{false: "stdio", true: "http"}[http]
			h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, kind, Options{}, nil)
			defer h.close()
			h.can = allCapabilities
			h.ready()
			h.initialize()
			h.send(call(1))
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			if n := len(server.Received("notifications/cancelled")); n != 1 || len(server.Answers()) != 0 {
				t.Fatalf("%s: at once the server got %d cancellations and %v, want the one alone", test.name, n, server.Answers())
			}
			server.Handle = func(*pipe.Peer, protocol.Frame, []byte) {}
			if http { // which says whose a question is, so this call's client is not asked
				h.send(call(2))
			}
			if test.then != "" {
				line := test.then
				if strings.Contains(line, "%s") {
					line = fmt.Sprintf(line, server.Received("tools/call")[0].IDBytes())
				}
				say(server.Last(), line)
			}
			if got := h.got(); http && len(got) != 0 {
				t.Errorf("%s: the client got %q", test.name, got)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := len(server.Answers()); n != test.want {
				t.Errorf("%s: a second later the server got %d answers, want %d", test.name, n, test.want)
			}
		})
	}
}

// taken is how a server over HTTP takes what is no request; on stdio it means nothing.
func taken(p *pipe.Peer, o upstream.Outgoing) { _ = p.Tell(upstream.Ended{Ticket: o.Ticket}) }

// A server over HTTP is slow to take the cancellation of a call in which it asks: its question is not answered before that has
// come, or both would come at once. One that never says that it has taken it gets the answer in the end.
func TestACancellationThatIsSlowToArrive(t *testing.T) {
	for _, takes := range []bool{true, false} {
		within(func(t *testing.T) {
			var end upstream.Ended
			server := &actortest.Server{Tools: []string{"ask"}}
			server.HandleOther = func(p *pipe.Peer, o upstream.Outgoing) {
				if o.Method != "notifications/cancelled" {
					taken(p, o)
					return
				}
				end.Ticket = o.Ticket
			}
			server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				var e upstream.Received
				if err := e.Frame.Parse([]byte(`{"jsonrpc":"2.0","id":"b0",` + elicit + `}`)); err != nil {
					t.Error(err)
				}
				e.Ticket, _ = strconv.ParseUint(string(id), 10, 64)
				_ = p.Tell(e)
			}
			h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "http", Options{}, nil)
			defer h.close()
			h.can = allCapabilities
			h.ready()
			h.initialize()
			h.send(call(1))
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			answers := func(after time.Duration) int {
				time.Sleep(after)
				synctest.Wait()
				return len(server.Answers())
			}
			if n := answers(5 * time.Second); n != 0 {
				t.Errorf("the cancellation is still on its way, and the server got %d answers", n)
			}
			if takes {
				_ = server.Last().Tell(end)
			}
			if n := answers(900 * time.Millisecond); n != 0 {
				t.Errorf("the server has just taken the cancellation, and got %d answers", n)
			}
			if takes && answers(time.Second) != 1 {
				t.Error("a moment after the cancellation its question is not answered")
			}
			if n := answers(5 * time.Second); n != 1 {
				t.Errorf("in the end the server got %d answers, want 1", n)
			}
		})(t)
	}
}
