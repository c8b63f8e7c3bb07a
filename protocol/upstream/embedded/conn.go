package embedded

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// Conn is the server's end of a connection. Its methods may be called from any goroutine.
type Conn struct {
	o        Options
	sink     upstream.Sink
	telling  context.Context // ends when events are no longer needed, so that a blocked sink returns
	mute     context.CancelFunc
	refusals upstream.Refusals

	opened  chan struct{}      // closed after Opened was reported
	closing chan time.Duration // the grace of the first Close
	hurry   chan struct{}      // closed by a Close without grace
	once    sync.Once          // guards closing
	again   sync.Once          // guards hurry

	reports sync.RWMutex // read-locked by Read and Write while they report, so that Closed comes last
	silent  bool         // nothing may be reported anymore; reports guards it

	wake chan struct{} // capacity 1; wakes a Read

	mu    sync.Mutex
	queue []upstream.Outgoing // sent by the gateway and not read yet
	bytes int                 // size of the queue
	since time.Time           // when the first message in the queue reached the front
	ended bool                // Read returns io.EOF once the queue is empty
	abort bool                // Read returns io.EOF although the queue is not empty
	over  bool                // Closed is about to be reported; later messages are dropped
}

// Read returns the next message from the gateway, which is one JSON-RPC message. It blocks until there is one. It
// returns io.EOF after the gateway has ended the connection, and the cause of ctx if that ends first. The caller owns
// the bytes.
func (c *Conn) Read(ctx context.Context) ([]byte, error) {
	for {
		m, found, ended := c.next()
		switch {
		case found:
			return m, nil
		case ended:
			return nil, io.EOF
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// next takes a message from the queue and reports that it is written.
func (c *Conn) next() (m []byte, found, ended bool) {
	c.reports.RLock()
	defer c.reports.RUnlock()
	c.mu.Lock()
	if c.silent || c.abort || len(c.queue) == 0 {
		ended = c.silent || c.ended
		if ended {
			c.signal() // for another Read
		}
		c.mu.Unlock()
		return nil, false, ended
	}
	o := c.queue[0]
	c.queue[0] = upstream.Outgoing{}
	c.queue = c.queue[1:]
	c.bytes -= len(o.Frame)
	c.since = time.Now()
	if len(c.queue) > 0 {
		c.signal()
	}
	c.mu.Unlock()
	c.o.Budget.Give(len(o.Frame))
	_ = c.sink(c.telling, upstream.Written{Ticket: o.Ticket}) // an error means that the connection is ending
	return bytes.Clone(o.Frame), true, false
}

// Write sends a JSON-RPC message, or a batch of 2025-03-26, to the gateway. It blocks until the gateway accepts the
// message. It returns upstream.ErrClosed after the connection has ended. Other errors concern this message only. Write
// does not retain m.
func (c *Conn) Write(ctx context.Context, m []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.reports.RLock()
	defer c.reports.RUnlock()
	if c.silent {
		return upstream.ErrClosed
	}
	if len(m) > c.o.MaxMessageBytes {
		err := fmt.Errorf("%w: %d bytes, the limit is %d", stream.ErrFrameTooLarge, len(m), c.o.MaxMessageBytes)
		_ = c.sink(c.telling, upstream.NoiseOf(m, err))
		return err
	}
	var told error
	err := upstream.Parse(bytes.Clone(m), func(f *protocol.Frame) error {
		told = c.sink(c.telling, upstream.Received{Frame: *f})
		return told
	})
	switch {
	case told != nil:
		return upstream.ErrClosed
	case err != nil:
		_ = c.sink(c.telling, upstream.NoiseOf(m, err))
	}
	return err
}

// signal wakes a Read.
func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end makes Read return io.EOF. A nil cause means that the gateway has closed the connection; Read then first returns
// the queued messages. With any other cause, Read returns io.EOF at once.
func (c *Conn) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.abort = true, cause != nil
	c.signal()
}

// deaf reports whether a message has waited for ReadTimeout.
func (c *Conn) deaf(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) > 0 && now.Sub(c.since) >= c.o.ReadTimeout
}
