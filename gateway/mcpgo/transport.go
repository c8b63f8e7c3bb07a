package mcpgo

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"

	"goblin-actor/gateway"
)

// Transport returns a transport with which a client.Client of mcp-go communicates with g. It opens a session when the
// client starts, and can be used once. Both protocol eras work, and the client can answer elicitation, sampling and
// roots requests. Close ends the session and cancels its calls.
func Transport(g *gateway.Gateway) transport.BidirectionalInterface {
	s := &dialed{gateway: g}
	return transport.NewIO(s, s, io.NopCloser(strings.NewReader("")))
}

// dialed is a connection that is opened on first use, because a transport must not do anything before it is started.
type dialed struct {
	gateway *gateway.Gateway

	mu     sync.Mutex
	conn   io.ReadWriteCloser
	err    error
	closed bool
}

// open returns the connection. The first call opens it.
func (d *dialed) open() (io.ReadWriteCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, io.ErrClosedPipe
	}
	if d.conn == nil && d.err == nil {
		d.conn, d.err = d.gateway.Dial(context.Background())
	}
	return d.conn, d.err
}

// Read returns io.EOF for every end, because mcp-go logs other errors.
func (d *dialed) Read(p []byte) (int, error) {
	conn, err := d.open()
	if err != nil {
		return 0, io.EOF
	}
	n, err := conn.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (d *dialed) Write(p []byte) (int, error) {
	conn, err := d.open()
	if err != nil {
		return 0, err
	}
	return conn.Write(p)
}

func (d *dialed) Close() error {
	d.mu.Lock()
	conn := d.conn
	d.conn, d.closed = nil, true
	d.mu.Unlock()
	if conn == nil {
		return nil
	}
	return conn.Close()
}
