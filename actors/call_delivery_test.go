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

// silentServer is a server whose connections, while silent is set, do not report that a message was written. HTTP connections may
// report this late or never. Calls can be held back before they are sent, which keeps the connection's actor busy.
type silentServer struct {
	*actortest.Server
	mu     sync.Mutex
	silent bool
	gate   chan struct{} // calls wait until it is closed; nil = they do not wait
}

func (s *silentServer) Open(sink upstream.Sink) upstream.Link {
	link := s.Server.Open(func(ctx context.Context, e upstream.Event) error {
		s.mu.Lock()
		silent := s.silent
		s.mu.Unlock()
		if _, written := e.(upstream.Written); written && silent {
			return nil
		}
		return sink(ctx, e)
	})
	return &gatedLink{link, s}
}

type gatedLink struct {
	upstream.Link
	of *silentServer
}

func (l *gatedLink) Send(o upstream.Outgoing) {
	l.of.mu.Lock()
	gate := l.of.gate
	l.of.mu.Unlock()
	if gate != nil && o.Method == "tools/call" {
		<-gate
	}
	l.Link.Send(o)
}

func (s *silentServer) set(silent bool, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent, s.gate = silent, gate
}

func (s *silentServer) openers() map[string]func(upstream.Sink) upstream.Link {
	return map[string]func(upstream.Sink) upstream.Link{"one": s.Open}
}

const oneSlow = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_slow"}}`

// A server on HTTP has two replicas. Calls have reached both but are not reported as written when another call gets no connection.
// Only that call is sent again, to the other replica. The calls that have arrived are neither repeated nor refused.
func TestCallNextToUnsentCall(t *testing.T) {
	inBubble(func(t *testing.T) {
		peers := map[string]*pipe.Peer{}
		server := &silentServer{Server: &actortest.Server{Tools: []string{"slow"}}}
		server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			server.mu.Lock()
			defer server.mu.Unlock()
			peers[string(id)] = p
		}
		h := startStdioWith(t, server.openers(), "http", Options{}, func(c *config.Config) { c.Servers[0].Replicas = 2 })
		defer h.close()
		time.Sleep(3 * time.Second)
		h.initialize()
		server.set(true, nil)
		for id := range 8 { // alternating, four at each replica
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
		if n := len(server.Received("tools/call")); n != 9 { // the call that was not sent goes to the other replica
			t.Errorf("the servers got %d calls, want 9: 8 and one retry", n)
		}
		if got := h.received(); len(got) != 0 {
			t.Errorf("answered without a server: %v", got)
		}
	})(t)
}

// Calls that do not fit into the mailbox of a connection's actor are refused and do not keep occupying a slot of their server. A link
// that blocks holds up the actor whose goroutine delivers the call (docs/decisions/0009-one-goroutine.md): usually the
// connection's, but possibly the session's, which then refuses calls itself. The test repeats until it was the connection's. In
// both cases, each call is answered once.
func TestBackendMailboxFull(t *testing.T) {
	for range 50 {
		if callsWithoutRoom(t) || t.Failed() {
			return
		}
	}
	t.Error("the mailbox of the connection's actor was never full")
}

// callsWithoutRoom reports whether the connection's mailbox was full.
func callsWithoutRoom(t *testing.T) (held bool) {
	inBubble(func(t *testing.T) {
		server := &silentServer{Server: &actortest.Server{Tools: []string{"slow"}}}
		h := startStdioWith(t, server.openers(), "stdio", Options{}, func(c *config.Config) {
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
		got = append(got, h.received()...)
		held = refused > 0 && strings.Contains(got[0], "QUEUE_FULL")
		if len(got) != 1200 {
			t.Fatalf("%d responses to 1200 calls, %d refused: %.300s", len(got), refused, got[0])
		}
		status, err := h.gateway.Status(t.Context())
		if err != nil || status.Servers[0].InFlight != 0 {
			t.Errorf("%d calls are in flight after all were answered (%v)", status.Servers[0].InFlight, err)
		}
	})(t)
	return held
}
