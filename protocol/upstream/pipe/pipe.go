package pipe

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// New returns a link whose server is the Peer, in the same program. Nothing but channels and short locks is
// underneath, so it works inside a testing/synctest bubble. Opened{} is told first.
func New(sink upstream.Sink) (upstream.Link, *Peer) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Peer{
		sink: sink, ctx: ctx, cancel: cancel,
		more: make(chan struct{}, 1), inbox: make(chan struct{}, 1),
		opened: make(chan struct{}), over: make(chan struct{}),
	}
	go p.pump()
	return (*link)(p), p
}

// Peer is the server end of a pipe, for tests. Its methods may be called from any goroutine but the sink's.
type Peer struct {
	sink   upstream.Sink
	ctx    context.Context // ends with the pipe: a sink that waits for room returns
	cancel context.CancelFunc
	more   chan struct{} // the pump has something to do
	inbox  chan struct{} // a frame came, or the pipe closed
	opened chan struct{} // closed once Opened was told
	over   chan struct{} // closed once Closed was told

	mu       sync.Mutex
	queue    []upstream.Outgoing // sent, Written not told
	received []upstream.Outgoing // written, not yet taken by Receive
	canceled []uint64
	version  string
	listens  int
	closed   bool // Close was called
	done     bool // nothing is told any more but Closed
	cause    error

	telling sync.RWMutex // read-locked around each Tell, so that Closed comes after them
}

// link is the client end; the state is the Peer's.
type link Peer

// Send never fails while the pipe is open: there is no limit.
func (l *link) Send(o upstream.Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return
	}
	l.queue = append(l.queue, o)
	signal(l.more)
}

func (l *link) Cancel(ticket uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canceled = append(l.canceled, ticket)
}

func (l *link) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens++
}

func (l *link) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version = version
}

// Close ends the pipe at once, whatever the grace; Closed{nil} is told.
func (l *link) Close(time.Duration) { (*Peer)(l).end(nil) }

// Receive returns the next frame the link sent; it blocks until there is one. io.EOF after the pipe closed.
func (p *Peer) Receive() (upstream.Outgoing, error) {
	for {
		p.mu.Lock()
		if len(p.received) > 0 {
			o := p.received[0]
			p.received = p.received[1:]
			more := len(p.received) > 0
			p.mu.Unlock()
			if more {
				signal(p.inbox) // for another Receive that waits
			}
			return o, nil
		}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			signal(p.inbox)
			return upstream.Outgoing{}, io.EOF
		}
		<-p.inbox
	}
}

// Send parses raw and tells it as Received{Ticket: 0}, as a process on stdio would. It blocks while the sink has no room.
func (p *Peer) Send(raw []byte) error { return p.send(0, raw, false) }

// Answer tells raw as the last frame on the HTTP response of ticket.
func (p *Peer) Answer(ticket uint64, raw []byte) error { return p.send(ticket, raw, true) }

func (p *Peer) send(ticket uint64, raw []byte, last bool) error {
	var f protocol.Frame
	if err := f.Parse(raw); err != nil {
		return fmt.Errorf("parse frame: %w", err)
	}
	return p.Tell(upstream.Received{Ticket: ticket, Frame: f, Last: last})
}

// Tell tells any event at all: SessionLost, Ended, Noise, Stderr … It blocks while the sink has no room;
// ErrClosed after the pipe closed.
func (p *Peer) Tell(e upstream.Event) error {
	<-p.opened
	p.telling.RLock()
	defer p.telling.RUnlock()
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return upstream.ErrClosed
	}
	return p.sink(p.ctx, e)
}

// Close ends the pipe as a server that goes away would: Closed{err} is told.
func (p *Peer) Close(err error) { p.end(err) }

// Version returns what SetVersion set.
func (p *Peer) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// Listens returns how often Listen was called.
func (p *Peer) Listens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listens
}

// Canceled returns the tickets that Cancel was called for, in order.
func (p *Peer) Canceled() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]uint64(nil), p.canceled...)
}

// Done is closed once Closed was told.
func (p *Peer) Done() <-chan struct{} { return p.over }

func (p *Peer) end(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed, p.cause = true, cause
	p.cancel()
	signal(p.more)
	signal(p.inbox)
}

// pump tells what happened, one goroutine a pipe: Opened, a Written for every frame, Closed.
func (p *Peer) pump() {
	defer close(p.over)
	if p.sink(p.ctx, upstream.Opened{}) != nil {
		p.end(nil) // nobody listens
	}
	close(p.opened)
	for {
		p.mu.Lock()
		queue, closed := p.queue, p.closed
		p.queue = nil
		p.done = closed && len(queue) == 0
		done, cause := p.done, p.cause
		p.mu.Unlock()
		for _, o := range queue {
			p.deliver(o, closed)
		}
		if done {
			p.telling.Lock()
			defer p.telling.Unlock()
			_ = p.sink(context.Background(), upstream.Closed{Err: cause})
			return
		}
		if !closed {
			<-p.more
		}
	}
}

// deliver tells Written before the peer sees the frame, so that an answer cannot come first.
func (p *Peer) deliver(o upstream.Outgoing, closed bool) {
	if closed {
		_ = p.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		return
	}
	if p.sink(p.ctx, upstream.Written{Ticket: o.Ticket}) != nil {
		p.end(nil)
		return
	}
	p.mu.Lock()
	p.received = append(p.received, o)
	p.mu.Unlock()
	signal(p.inbox)
}

// signal wakes the reader of a channel of capacity 1, now or at its next look.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
