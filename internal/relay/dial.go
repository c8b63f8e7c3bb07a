package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// Dial opens a connection to another node, for requests other than those that the Relay passes on. It fails when ctx ends. The
// connection is also closed by Relay.Forget and Relay.Close.
func (r *Relay) Dial(ctx context.Context, t Target) (net.Conn, error) {
	c, err := r.pool(t).dial(ctx)
	if err != nil {
		return nil, err
	}
	d := &dialed{conn: c, relay: r, target: t}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.cut()
		return nil, net.ErrClosed
	}
	r.dialed[d] = struct{}{}
	return d, nil
}

// dialed is a connection that its user closes.
type dialed struct {
	*conn
	relay  *Relay
	target Target
}

// Read reads from the node.
func (d *dialed) Read(p []byte) (int, error) {
	n, err := d.conn.Read(p)
	return n, d.explain(err)
}

// Write writes to the node.
func (d *dialed) Write(p []byte) (int, error) {
	n, err := d.conn.Write(p)
	return n, d.explain(err)
}

// explain replaces errors that would show clients the nodes' addresses. The end of the connection and timeouts stay.
func (d *dialed) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) || isTimeout(err) {
		return err
	}
	return fmt.Errorf("the connection to node %s of the cluster was lost", d.target.Node)
}

// Close closes the connection at once, without waiting for the other node.
func (d *dialed) Close() error {
	d.relay.mu.Lock()
	delete(d.relay.dialed, d)
	d.relay.mu.Unlock()
	d.cut()
	return nil
}

// SyscallConn returns the socket.
func (d *dialed) SyscallConn() (syscall.RawConn, error) {
	raw, ok := d.raw()
	if !ok {
		return nil, net.ErrClosed
	}
	return raw, nil
}
