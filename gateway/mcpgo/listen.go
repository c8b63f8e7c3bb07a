package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"goblin-actor/protocol"
)

// streams holds the running subscriptions/listen requests of a connection. Each has its own session, so mcp-go does not
// find the request that a cancellation names.
type streams struct {
	mu sync.Mutex
	by map[string]context.CancelFunc // by the id of the request
}

func (s *streams) add(id string, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]context.CancelFunc{}
	}
	s.by[id] = cancel
}

func (s *streams) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, id)
}

// cancel ends the request that notifications/cancelled names.
func (s *streams) cancel(f *protocol.Frame) {
	var m struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if json.Unmarshal(f.Raw, &m) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.by[string(m.Params.RequestID)]; cancel != nil {
		cancel()
	}
}

// listen serves a subscriptions/listen request of 2026-07-28 until it is canceled. Its notifications carry the id of
// the request.
func (c *connection) listen(ctx context.Context, f *protocol.Frame) mcp.JSONRPCMessage {
	listening, cancel := context.WithCancel(ctx)
	defer cancel()
	id := string(f.IDBytes())
	c.streams.add(id, cancel)
	defer c.streams.remove(id)
	s := newSession(&c.questions)
	s.listens = true
	s.Initialize()
	if err := c.server.RegisterSession(listening, s); err != nil {
		return json.RawMessage(errorResponse(f, mcp.INTERNAL_ERROR, fmt.Sprintf("register the session: %v", err)))
	}
	defer c.server.UnregisterSession(context.WithoutCancel(ctx), s.SessionID())
	var pump sync.WaitGroup
	pump.Go(func() {
		for {
			select {
			case n := <-s.notifications:
				c.forward(ctx, id, n)
			case <-listening.Done():
				return
			}
		}
	})
	m := c.server.HandleMessage(c.server.WithContext(listening, s), f.Raw)
	cancel()
	pump.Wait()
	for range len(s.notifications) {
		c.forward(ctx, id, <-s.notifications)
	}
	return m
}

// forward sends a notification on the stream that the request with the given id has opened.
func (c *connection) forward(ctx context.Context, id string, n mcp.JSONRPCNotification) {
	meta := maps.Clone(n.Params.Meta) // all sessions share the notification
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeySubscriptionID] = json.RawMessage(id)
	n.Params.Meta = meta
	if raw, err := json.Marshal(n); err == nil {
		_ = c.send(ctx, raw) // an error means that the connection is ending
	}
}
