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

// A call is canceled while its server awaits the client's answer to a server request. At first the server gets only the
// cancellation: Python SDK 1 loses its session if an answer to its request arrives at the same time. If the server ends the call or
// withdraws its request, it gets no answer. If it ignores the cancellation, it gets the answer within a second, and also one to a
// request that it sends after the cancellation. No other client gets these requests.
func TestCancelDuringServerRequest(t *testing.T) {
	tests := []struct {
		name string
		then string // the server's reaction; %s is its ID of the call
		want int    // answers within the next second
	}{
		{"answers the call", `{"jsonrpc":"2.0","id":%s,"error":{"code":0,"message":"Request cancelled"}}`, 0},
		{"withdraws its request", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b0"}}`, 0},
		{"waits for the answer", "", 1},
		{"sends another request", `{"jsonrpc":"2.0","id":"b1",` + elicit + `}`, 2},
	}
	for _, test := range tests {
		eachTransport(t, func(t *testing.T, http bool) {
			var ticket uint64
			server := &actortest.Server{Tools: []string{"ask"}, HandleOther: acknowledge}
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
			h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, kind, Options{}, nil)
			defer h.close()
			h.clientCapabilities = allCapabilities
			h.waitReady()
			h.initialize()
			h.send(call(1))
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			if n := len(server.Received("notifications/cancelled")); n != 1 || len(server.Answers()) != 0 {
				t.Fatalf("%s: the server got %d cancellations and the answers %v, want one cancellation only", test.name, n, server.Answers())
			}
			server.Handle = func(*pipe.Peer, protocol.Frame, []byte) {}
			if http { // over HTTP the request belongs to the call, so this client must not get it
				h.send(call(2))
			}
			if test.then != "" {
				line := test.then
				if strings.Contains(line, "%s") {
					line = fmt.Sprintf(line, server.Received("tools/call")[0].IDBytes())
				}
				say(server.Last(), line)
			}
			if got := h.received(); http && len(got) != 0 {
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

// acknowledge confirms a message that is not a request, as an HTTP server does. It has no effect on stdio.
func acknowledge(p *pipe.Peer, o upstream.Outgoing) { _ = p.Tell(upstream.Ended{Ticket: o.Ticket}) }

// An HTTP server is slow to accept the cancellation of a call during which it has sent a request. The request is answered only after
// the server has accepted the cancellation, so that the two do not arrive at once. If it never accepts it, it gets the answer
// eventually.
func TestSlowCancellation(t *testing.T) {
	for _, takes := range []bool{true, false} {
		inBubble(func(t *testing.T) {
			var end upstream.Ended
			server := &actortest.Server{Tools: []string{"ask"}}
			server.HandleOther = func(p *pipe.Peer, o upstream.Outgoing) {
				if o.Method != "notifications/cancelled" {
					acknowledge(p, o)
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
			h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "http", Options{}, nil)
			defer h.close()
			h.clientCapabilities = allCapabilities
			h.waitReady()
			h.initialize()
			h.send(call(1))
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			answers := func(after time.Duration) int {
				time.Sleep(after)
				synctest.Wait()
				return len(server.Answers())
			}
			if n := answers(5 * time.Second); n != 0 {
				t.Errorf("before the cancellation was accepted the server got %d answers", n)
			}
			if takes {
				_ = server.Last().Tell(end)
			}
			if n := answers(900 * time.Millisecond); n != 0 {
				t.Errorf("right after the cancellation was accepted the server got %d answers", n)
			}
			if takes && answers(time.Second) != 1 {
				t.Error("a second after the cancellation the request was not answered")
			}
			if n := answers(5 * time.Second); n != 1 {
				t.Errorf("eventually the server got %d answers, want 1", n)
			}
		})(t)
	}
}
