package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"goblin-actor/gateway"
	"goblin-actor/protocol"
)

// maxRunning is the maximum number of requests of one connection whose handlers run at the same time. The gateway sends
// fewer concurrent calls, but a handler may continue after its call has timed out.
const maxRunning = 1024

var errEnded = errors.New("the connection to the gateway has ended")

// Server returns the Connect function of a gateway.Server for s. It may be used for several servers and gateways.
//
// Each handler runs on a separate goroutine, at most 1024 per connection; further requests are refused. A handler's
// context ends with its call or the connection. A panic in a handler fails only its call. A handler that ignores the
// end of its context may outlive the call, the connection and the gateway; its result is dropped.
func Server(s *server.MCPServer) func(context.Context, gateway.Conn) error {
	return func(ctx context.Context, conn gateway.Conn) error {
		ctx, cancel := context.WithCancel(ctx) // also for handlers
		defer cancel()
		c := newConnection(s, conn, ctx.Done())
		if err := s.RegisterSession(ctx, c.session); err != nil {
			return fmt.Errorf("register the session: %w", err)
		}
		defer s.UnregisterSession(context.WithoutCancel(ctx), c.session.SessionID())
		var writer sync.WaitGroup
		writer.Go(func() { c.write(ctx) })
		err := c.read(s.WithContext(ctx, c.session))
		cancel()
		writer.Wait()
		return err
	}
}

// connection is one connection of a gateway to a server. Its goroutines are the callers of read and write, and one for
// each running handler.
type connection struct {
	server    *server.MCPServer
	conn      gateway.Conn
	session   *session
	questions questions

	outgoing chan []byte     // responses, and requests to the client; write sends them
	running  chan struct{}   // has an element for each running handler of a request or notification
	ended    <-chan struct{} // closed when the connection has ended
	streams  streams
}

func newConnection(s *server.MCPServer, conn gateway.Conn, ended <-chan struct{}) *connection {
	c := &connection{server: s, conn: conn, outgoing: make(chan []byte), running: make(chan struct{}, maxRunning), ended: ended}
	c.questions = questions{send: c.send, waiting: map[string]chan answer{}}
	c.session = newSession(&c.questions)
	return c
}

// read handles messages until the connection ends.
func (c *connection) read(ctx context.Context) error {
	for {
		raw, err := c.conn.Read(ctx)
		if err != nil {
			return nil
		}
		var f protocol.Frame
		if err := f.Parse(raw); err != nil {
			continue // the gateway sends no such message
		}
		switch f.Kind {
		case protocol.KindRequest:
			c.start(ctx, &f)
		case protocol.KindNotification:
			c.notified(ctx, &f)
		default:
			c.questions.answered(&f)
		}
	}
}

// start handles a request. The session is initialized before the next message is read.
func (c *connection) start(ctx context.Context, f *protocol.Frame) {
	select {
	case c.running <- struct{}{}:
	default:
		_ = c.send(ctx, errorResponse(f, mcp.INTERNAL_ERROR, fmt.Sprintf("%d requests are still running in this server; try again later", maxRunning)))
		return
	}
	run := func() {
		defer func() { <-c.running }()
		if response := c.handle(ctx, f); response != nil {
			_ = c.send(ctx, response)
		}
	}
	if f.Method == protocol.MethodInitialize {
		run()
		return
	}
	go run()
}

// handle returns the response to a request. It is nil if the handler does not return one.
func (c *connection) handle(ctx context.Context, f *protocol.Frame) (response []byte) {
	defer func() {
		if v := recover(); v != nil {
			response = errorResponse(f, mcp.INTERNAL_ERROR, fmt.Sprintf("the handler panicked: %v", v))
		}
	}()
	var m mcp.JSONRPCMessage
	if f.Method == protocol.MethodSubscriptionsListen {
		m = c.listen(ctx, f)
	} else {
		m = c.server.HandleMessage(ctx, f.Raw)
	}
	if m == nil {
		return nil
	}
	response, err := json.Marshal(m)
	if err != nil {
		return errorResponse(f, mcp.INTERNAL_ERROR, fmt.Sprintf("the handler's result is not valid JSON: %v", err))
	}
	return response
}

// notified handles a notification. Cancellations are handled at once. Handlers of other notifications are code of the
// program, so each runs on its own goroutine, or is skipped if too many handlers are running.
func (c *connection) notified(ctx context.Context, f *protocol.Frame) {
	handle := func() {
		defer func() { _ = recover() }() // a notification has no response
		c.server.HandleMessage(ctx, f.Raw)
	}
	if f.Method == protocol.NotificationCancelled {
		c.streams.cancel(f)
		handle()
		return
	}
	select {
	case c.running <- struct{}{}:
		go func() { defer func() { <-c.running }(); handle() }()
	default: // too many handlers are stuck
	}
}

// send passes a message to write. It blocks until write takes it, ctx ends or the connection ends.
func (c *connection) send(ctx context.Context, raw []byte) error {
	select {
	case c.outgoing <- raw:
		return nil
	case <-c.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write sends messages until ctx ends. Notifications that a handler has sent before its response are written before it.
func (c *connection) write(ctx context.Context) {
	for {
		select {
		case n := <-c.session.notifications:
			c.notify(ctx, n)
		case raw := <-c.outgoing:
			for range len(c.session.notifications) {
				c.notify(ctx, <-c.session.notifications)
			}
			_ = c.conn.Write(ctx, raw) // an error concerns this message, or the connection is ending
		case <-ctx.Done():
			return
		}
	}
}

func (c *connection) notify(ctx context.Context, n mcp.JSONRPCNotification) {
	if raw, err := json.Marshal(n); err == nil { // else it is dropped, because its sender does not wait for a result
		_ = c.conn.Write(ctx, raw)
	}
}

// errorResponse returns an error response to a request.
func errorResponse(f *protocol.Frame, code int, message string) []byte {
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION, "id": json.RawMessage(f.IDBytes()), "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		panic(err) // an id that was parsed, a number and a text always marshal
	}
	return raw
}
