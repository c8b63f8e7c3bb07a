package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	queueBytes   = 8 << 20          // default of Options.QueueBytes
	readTimeout  = 30 * time.Second // default of Options.ReadTimeout
	returnWithin = 2 * time.Second  // time for the function to return after its context has ended
	drainFor     = 250 * time.Millisecond
)

var (
	// ErrReturned is the error in Closed if the function returned nil although the connection was open.
	ErrReturned = errors.New("the server's function returned")
	// ErrNotReading is the error in Closed if the function read nothing for Options.ReadTimeout although messages waited.
	ErrNotReading = errors.New("the server's function does not read its messages")

	errExited = errors.New("the server's function called runtime.Goexit")
)

// PanicError is the error in Closed if the function panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the server's function panicked: %v", e.Value)
}

// Options describes the server.
type Options struct {
	// Serve serves one connection and returns when it ends. It is called once, on its own goroutine. ctx ends with the
	// connection.
	Serve           func(ctx context.Context, c *Conn) error
	MaxMessageBytes int            // maximum size of a message from the server
	QueueBytes      int            // maximum size of queued messages to the server; Send reports NotSent beyond it; 0 = 8 MiB
	ReadTimeout     time.Duration  // the connection ends if messages wait and Serve reads none for this long; 0 = 30 s
	Budget          *stream.Budget // counts queued bytes; nil = uncounted
	Left            func()         // called if Serve did not return in time; its goroutine is left behind. May be nil
}

// Open calls Options.Serve on a goroutine and returns at once. Opened is always reported first.
func Open(o Options, sink upstream.Sink) upstream.Link {
	if o.QueueBytes <= 0 {
		o.QueueBytes = queueBytes
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = readTimeout
	}
	o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	c := &Conn{o: o, sink: upstream.Paced(sink), opened: make(chan struct{}), wake: make(chan struct{}, 1), closing: make(chan time.Duration, 1), hurry: make(chan struct{})}
	c.telling, c.mute = context.WithCancel(context.Background())
	c.refusals.Init(func(e upstream.Event) error {
		<-c.opened
		return c.sink(c.telling, e)
	})
	go c.run()
	return (*link)(c)
}

// link is the gateway's end of a Conn.
type link Conn

// Send queues a message for Read. It never blocks. A message larger than the limit is accepted if the queue is empty.
func (l *link) Send(o upstream.Outgoing) {
	c := (*Conn)(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
	case c.ended:
		c.refusals.Add(o.Ticket, upstream.ErrClosed)
	case c.bytes > 0 && c.bytes+len(o.Frame) > c.o.QueueBytes:
		c.refusals.Add(o.Ticket, upstream.ErrQueueFull)
	case !c.o.Budget.Take(len(o.Frame)):
		c.refusals.Add(o.Ticket, stream.ErrOverBudget)
	default:
		if len(c.queue) == 0 {
			c.since = time.Now()
		}
		c.queue = append(c.queue, o)
		c.bytes += len(o.Frame)
		c.signal()
	}
}

// Cancel does nothing. A request is canceled by a notification.
func (*link) Cancel(uint64)     {}
func (*link) Listen()           {}
func (*link) SetVersion(string) {}

// Close lets the function read the queued messages and then io.EOF. It ends the function's context after grace.
func (l *link) Close(grace time.Duration) {
	l.once.Do(func() { l.closing <- grace })
	if grace <= 0 {
		l.again.Do(func() { close(l.hurry) })
	}
}

// run runs the connection from start to end.
func (c *Conn) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed, returned := make(chan error, 1), make(chan struct{})
	err := c.sink(c.telling, upstream.Opened{})
	close(c.opened)
	if err != nil {
		c.end(upstream.ErrClosed) // the receiver has stopped
		c.finish(nil)
		return
	}
	go func() {
		defer close(returned)
		c.serve(ctx, failed)
	}()
	grace, cause := c.supervise(failed)
	c.end(cause)
	if cause == nil || errors.Is(cause, ErrNotReading) {
		c.await(returned, grace, cancel)
	}
	c.finish(cause)
}

// serve calls the function. It sends the function's error to failed, even if the function panics or exits its goroutine.
func (c *Conn) serve(ctx context.Context, failed chan<- error) {
	err := errExited
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		failed <- err
	}()
	if err = c.o.Serve(ctx, c); err == nil {
		err = ErrReturned
	}
}

// supervise waits until Close is called and returns its grace, or until the function has returned or has stopped
// reading and returns the cause.
func (c *Conn) supervise(failed <-chan error) (grace time.Duration, cause error) {
	look := time.NewTicker(c.o.ReadTimeout / 4)
	defer look.Stop()
	for {
		select {
		case err := <-failed:
			return 0, err
		case grace = <-c.closing:
			return grace, nil
		case now := <-look.C:
			if c.deaf(now) {
				return 0, fmt.Errorf("%w for %v", ErrNotReading, c.o.ReadTimeout)
			}
		}
	}
}

// await waits for the function to return. It cancels the function's context after grace. If the function still runs
// returnWithin later, its goroutine is abandoned.
func (c *Conn) await(returned <-chan struct{}, grace time.Duration, cancel context.CancelFunc) {
	gentle := time.NewTimer(max(grace, 0))
	defer gentle.Stop()
	select {
	case <-returned:
		return
	case <-gentle.C:
	case <-c.hurry:
	}
	cancel()
	c.mute() // a Write that waits for room returns
	enough := time.NewTimer(returnWithin)
	defer enough.Stop()
	select {
	case <-returned:
	case <-enough.C:
		if c.o.Left != nil {
			c.o.Left()
		}
	}
}

// finish reports NotSent for the messages that were not read, then Closed.
func (c *Conn) finish(cause error) {
	c.settle(cause == nil)
	c.mu.Lock()
	left := c.queue
	c.queue, c.bytes, c.over = nil, 0, true
	c.mu.Unlock()
	c.refusals.Settle()
	for _, o := range left {
		c.o.Budget.Give(len(o.Frame))
		_ = c.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
	}
	c.mute()
	_ = c.sink(context.Background(), upstream.Closed{Err: cause})
}

// settle waits until Read and Write have reported their events, and makes later calls fail. Once Close was called, it
// waits at most drainFor for the receiver to accept the events.
func (c *Conn) settle(asked bool) {
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		c.reports.Lock()
		defer c.reports.Unlock()
		c.silent = true
	}()
	if !asked {
		select {
		case <-quiet:
			return
		case <-c.closing:
		}
	}
	enough := time.NewTimer(drainFor)
	defer enough.Stop()
	select {
	case <-quiet:
		return
	case <-enough.C:
	case <-c.hurry:
	}
	c.mute()
	<-quiet
}
