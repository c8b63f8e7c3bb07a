package gosdk

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
)

// Server returns the Connect function of a gateway.Server for s. It may be used for several servers and gateways. Every
// connection is a session of s.
//
// Server adds a receiving middleware to s, so that a panic in a handler fails only its call. Without the middleware,
// the panic would end the program. The context of a handler ends with its call or the connection. A handler that
// ignores this prevents its connection from ending and keeps running.
func Server(s *mcp.Server) func(context.Context, gateway.Conn) error {
	s.AddReceivingMiddleware(recoverPanics)
	return func(ctx context.Context, conn gateway.Conn) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		session, err := s.Connect(ctx, serverTransport{&connection{conn: conn, ctx: ctx, close: cancel}}, nil)
		if err != nil {
			return fmt.Errorf("start the session: %w", err)
		}
		_ = session.Wait() // until the connection has ended
		return nil
	}
}

// recoverPanics turns a panic of a handler into an error.
func recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("the handler panicked: %v", v)}
			}
		}()
		return next(ctx, method, r)
	}
}

// serverTransport is an mcp.Transport with one connection.
type serverTransport struct{ c *connection }

func (t serverTransport) Connect(context.Context) (mcp.Connection, error) { return t.c, nil }

// connection is an mcp.Connection over a gateway.Conn. Its methods may be called from any goroutine.
type connection struct {
	conn  gateway.Conn
	ctx   context.Context // ends with the connection
	close func()          // ends ctx
}

// Read returns the next message. It returns io.EOF after Close and after the gateway has ended the connection.
func (c *connection) Read(context.Context) (jsonrpc.Message, error) {
	raw, err := c.conn.Read(c.ctx)
	if err != nil {
		return nil, io.EOF
	}
	return jsonrpc.DecodeMessage(raw)
}

// Write sends a message.
func (c *connection) Write(_ context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.conn.Write(c.ctx, raw)
}

// Close ends the connection.
func (c *connection) Close() error {
	c.close()
	return nil
}

// SessionID returns "": the connection is the session.
func (*connection) SessionID() string { return "" }
