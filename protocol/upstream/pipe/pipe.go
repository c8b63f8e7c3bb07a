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

// New returns a link and its server end in the same process. It uses only channels and short locks,
// so it works in a testing/synctest bubble. Opened{} is reported first.
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

// Peer is the server end of a pipe, for tests. Its methods may be called from any goroutine except the sink's.
type Peer struct {
	sink   upstream.Sink
	ctx    context.Context // ends with the pipe, so that a blocked sink returns
	cancel context.CancelFunc
	more   chan struct{} // wakes the pump
	inbox  chan struct{} // a frame was received, or the pipe closed
	opened chan struct{} // closed after Opened was reported
	over   chan struct{} // closed after Closed was reported

	mu       sync.Mutex
	queue    []upstream.Outgoing // sent, but Written is not reported yet
	received []upstream.Outgoing // written, not yet returned by Receive
	canceled []uint64
	version  string
	listens  int
	closed   bool // Close was called
	done     bool // only Closed is still to be reported
	cause    error

	telling sync.RWMutex // read-locked during each Tell, so that Closed comes last
}

// link is the client end. It shares the Peer's state.
type link Peer

// Send never fails while the pipe is open; the queue is unbounded.
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

// Close ends the pipe at once and ignores grace. Closed{nil} is reported.
func (l *link) Close(time.Duration) { (*Peer)(l).end(nil) }

// Receive blocks until the link has sent a frame, and returns it. It returns io.EOF after the pipe was closed.
func (p *Peer) Receive() (upstream.Outgoing, error) {
	for {
		p.mu.Lock()
		if len(p.received) > 0 {
			o := p.received[0]
			p.received = p.received[1:]
			more := len(p.received) > 0
			p.mu.Unlock()
			if more {
				signal(p.inbox) // wakes another Receive
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

// Send parses raw and reports it as Received{Ticket: 0}, like a process on stdio. It blocks while the sink blocks.
func (p *Peer) Send(raw []byte) error { return p.send(0, raw, false) }

// Answer reports raw as the last frame of the HTTP response to ticket.
func (p *Peer) Answer(ticket uint64, raw []byte) error { return p.send(ticket, raw, true) }

func (p *Peer) send(ticket uint64, raw []byte, last bool) error {
	var f protocol.Frame
	if err := f.Parse(raw); err != nil {
		return fmt.Errorf("parse frame: %w", err)
	}
	return p.Tell(upstream.Received{Ticket: ticket, Frame: f, Last: last})
}

// Tell reports an event, such as SessionLost, Ended, Noise or Stderr. It blocks while the sink blocks, and
// returns ErrClosed after the pipe was closed.
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

// Close ends the pipe like a server that disconnects. Closed{err} is reported.
func (p *Peer) Close(err error) { p.end(err) }

// Version returns the version set by SetVersion.
func (p *Peer) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// Listens returns how many times Listen was called.
func (p *Peer) Listens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listens
}

// Canceled returns the tickets passed to Cancel, in order.
func (p *Peer) Canceled() []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]uint64(nil), p.canceled...)
}

// Done returns a channel that is closed after Closed was reported.
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

// pump reports Opened, Written for every frame, and Closed. Each pipe has one such goroutine.
func (p *Peer) pump() {
	defer close(p.over)
	if p.sink(p.ctx, upstream.Opened{}) != nil {
		p.end(nil) // the receiver has stopped
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

// deliver reports Written before the peer gets the frame, so that the response is always reported later.
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

// signal wakes the reader of a channel of capacity 1, now or at its next receive.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
