package actors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// tardy is a server whose connections say late, or never, that something was written, as those over HTTP may: bytes leave
// before that is told. Its calls can be kept from going out, which keeps the connection's actor busy.
type tardy struct {
	*actortest.Server
	mu     sync.Mutex
	silent bool
	gate   chan struct{} // calls wait until it is closed; nil = they do not
}

func (s *tardy) Open(sink upstream.Sink) upstream.Link {
	link := s.Server.Open(func(ctx context.Context, e upstream.Event) error {
		s.mu.Lock()
		silent := s.silent
		s.mu.Unlock()
		if _, written := e.(upstream.Written); written && silent {
			return nil
		}
		return sink(ctx, e)
	})
	return &gated{link, s}
}

type gated struct {
	upstream.Link
	of *tardy
}

func (l *gated) Send(o upstream.Outgoing) {
	l.of.mu.Lock()
	gate := l.of.gate
	l.of.mu.Unlock()
	if gate != nil && o.Method == "tools/call" {
		<-gate
	}
	l.Link.Send(o)
}

func (s *tardy) set(silent bool, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent, s.gate = silent, gate
}

func (s *tardy) openers() map[string]func(upstream.Sink) upstream.Link {
	return map[string]func(upstream.Sink) upstream.Link{"one": s.Open}
}

const oneSlow = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_slow"}}`

// Two replicas of a URL. A call is at one of them, which nobody has been told of yet, when another call finds no connection:
// the first is executed once, and answered by the server that has it.
func TestACallBesideOneThatIsNotSent(t *testing.T) {
	within(func(t *testing.T) {
		peers := map[string]*pipe.Peer{}
		server := &tardy{Server: &actortest.Server{Tools: []string{"slow"}}}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			server.mu.Lock()
			defer server.mu.Unlock()
			peers[string(id)] = p
		}
		h := openOn(t, server.openers(), "http", Options{}, func(c *config.Config) { c.Servers[0].Replicas = 2 })
		defer h.close()
		time.Sleep(3 * time.Second)
		h.initialize()
		server.set(true, nil)
		for id := range 8 { // in turn: four at each replica
			h.send(fmt.Sprintf(oneSlow, id+1))
		}
		calls := server.Received("tools/call")
		if len(calls) != 8 {
			t.Fatalf("%d calls arrived, want 8", len(calls))
		}
		last := calls[7].IDBytes()
		var ticket uint64
		fmt.Sscan(string(last), &ticket)
		_ = peers[string(last)].Tell(upstream.NotSent{Ticket: ticket, Err: errors.New("connection refused")})
		time.Sleep(5 * time.Second)
		if n := len(server.Received("tools/call")); n != 9 { // the one that was not sent goes to the other replica
			t.Errorf("the servers got %d calls of 8, one of which the first did not get; want 9", n)
		}
		if got := h.got(); len(got) != 0 {
			t.Errorf("answered without a server: %v", got)
		}
	})(t)
}

// Calls that a connection's actor has no room for are refused, and take no slot of their server for ever. A link that does not return holds
// whichever actor's goroutine carries the call just then (docs/decisions/0009-one-goroutine.md): the connection's own, mostly, or that of the
// session before it, which refuses by itself then. So it is tried until it was the connection's; whichever it is, each call is answered once.
func TestCallsThatABackendHasNoRoomFor(t *testing.T) {
	for range 50 {
		if callsWithoutRoom(t) || t.Failed() {
			return
		}
	}
	t.Error("the connection's actor never was the one without room")
}

// callsWithoutRoom reports whether it was the connection's.
func callsWithoutRoom(t *testing.T) (held bool) {
	within(func(t *testing.T) {
		server := &tardy{Server: &actortest.Server{Tools: []string{"slow"}}}
		h := openOn(t, server.openers(), "stdio", Options{}, func(c *config.Config) {
			c.Servers[0].MaxConcurrent, c.Limits.MaxInFlightPerClient = 2000, 5000
		})
		defer h.close()
		h.initialize()
		gate := make(chan struct{})
		server.set(false, gate)
		var got []string
		for i := range 12 {
			var lines []string
			for j := range 100 {
				lines = append(lines, fmt.Sprintf(oneSlow, 100*i+j+1))
			}
			got = append(got, h.send(lines...)...)
		}
		refused := len(got)
		close(gate)
		synctest.Wait()
		got = append(got, h.got()...)
		held = refused > 0 && strings.Contains(got[0], "QUEUE_FULL")
		if len(got) != 1200 {
			t.Fatalf("%d answers of 1200, %d refused: %.300s", len(got), refused, got[0])
		}
		status, err := h.gateway.Status(t.Context())
		if err != nil || status.Servers[0].InFlight != 0 {
			t.Errorf("%d calls are in flight after all were answered (%v)", status.Servers[0].InFlight, err)
		}
	})(t)
	return held
}
