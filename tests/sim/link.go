package sim

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol/upstream"
)

// link is the gateway's connection to a simulated server: a process on stdio or a session over Streamable HTTP. Its
// events go through lanes. Events of one lane keep their order, like the bytes of one pipe or response.
type link struct {
	w      *world
	conn   *conn // the server's side
	http   bool
	sink   upstream.Sink
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	lanes   map[uint64]*lane
	queue   []upstream.Outgoing // process: waiting writes, in order
	writing bool                // process: a write is in progress
	open    map[uint64]bool     // HTTP: requests whose response has not ended
	closing bool                // Closed follows once the lanes are empty
	cause   error
	closed  bool
}

// lane is a queue of events that are delivered one by one.
type lane struct {
	events     []upstream.Event
	delivering bool
}

// Lanes that belong to no response.
const (
	pipeLane  = 0              // stdout, or the GET stream
	writeLane = ^uint64(0)     // Written and NotSent of a process
	closeLane = ^uint64(0) - 1 // Closed
)

func (s *server) open(n *node, sink upstream.Sink, token string) upstream.Link {
	l := &link{w: s.w, http: s.http, sink: sink, lanes: map[uint64]*lane{}, open: map[uint64]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.conn = s.connect(n, l)
	l.conn.headerValue = token
	s.checkStarts(n)
	if s.down && !s.http {
		l.end(errors.New("the process does not start"))
		return l
	}
	l.emit(pipeLane, upstream.Opened{})
	return l
}

// emit queues an event for the gateway.
func (l *link) emit(number uint64, e upstream.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	n := l.lanes[number]
	if n == nil {
		n = &lane{}
		l.lanes[number] = n
	}
	n.events = append(n.events, e)
	l.pump(number, n)
}

// pump delivers the next event of a lane after a while. The caller must hold mu.
func (l *link) pump(number uint64, n *lane) {
	if n.delivering || len(n.events) == 0 {
		return
	}
	n.delivering = true
	lag := l.conn.s.latency
	if len(n.events) > 50 { // the event has already waited long enough
		lag = func() time.Duration { return 0 }
	}
	l.w.scheduler.Schedule(func() { l.w.scheduler.After(lag(), func() { l.deliver(number, n) }) })
}

// deliver delivers one event, on a goroutine that blocks while the gateway does not accept the event.
func (l *link) deliver(number uint64, n *lane) {
	l.mu.Lock()
	e := n.events[0]
	n.events = n.events[1:]
	l.mu.Unlock()
	if r, ok := e.(upstream.Received); ok {
		l.w.trace("%s ⇒ %s", l.conn, r.Frame.Raw)
	}
	ctx := l.ctx
	if number == closeLane {
		ctx = context.Background()
	}
	l.w.scheduler.Go(func() {
		err := l.sink(ctx, e)
		l.mu.Lock()
		defer l.mu.Unlock()
		n.delivering = false
		if err != nil {
			n.events = nil
		}
		l.pump(number, n)
		l.closeWhenDrained()
	})
}

// closeWhenDrained emits Closed after all other events. The caller must hold mu.
func (l *link) closeWhenDrained() {
	if !l.closing || l.closed {
		return
	}
	for _, n := range l.lanes {
		if n.delivering || len(n.events) > 0 {
			return
		}
	}
	l.closed = true
	n := &lane{events: []upstream.Event{upstream.Closed{Err: l.cause}}}
	l.lanes[closeLane] = n
	l.pump(closeLane, n)
}

// Send implements upstream.Link.
func (l *link) Send(o upstream.Outgoing) {
	if l.http {
		l.post(o)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		l.mu.Unlock()
		l.emit(writeLane, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		l.mu.Lock()
		return
	}
	l.queue = append(l.queue, o)
	l.write()
}

// write writes the next message of a process after a while. The caller must hold mu.
func (l *link) write() {
	if l.writing || len(l.queue) == 0 || l.closing {
		return
	}
	l.writing = true
	l.w.scheduler.After(l.conn.s.latency(), func() {
		l.mu.Lock()
		l.writing = false
		if l.closing || len(l.queue) == 0 {
			l.mu.Unlock()
			return
		}
		o := l.queue[0]
		l.queue = l.queue[1:]
		l.write()
		l.mu.Unlock()
		l.emit(writeLane, upstream.Written{Ticket: o.Ticket})
		l.conn.receive(o)
	})
}

// post sends a message as a POST request.
func (l *link) post(o upstream.Outgoing) {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		l.emit(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		return
	}
	if o.Request {
		l.open[o.Ticket] = true
	}
	l.mu.Unlock()
	l.w.scheduler.After(l.conn.s.latency(), func() {
		switch {
		case l.gone():
			l.closeExchange(o.Ticket)
			l.emit(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
			return
		case l.conn.s.down || l.conn.s.fault(20):
			l.w.count("a POST that could not be sent")
			if o.Method == "notifications/initialized" { // without it, the connection stays uninitialized, and the gateway opens another
				l.conn.lostCalls = true
			}
			l.closeExchange(o.Ticket)
			l.emit(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: errors.New("connection refused")})
			return
		}
		l.emit(o.Ticket, upstream.Written{Ticket: o.Ticket})
		switch {
		case o.Request && l.conn.s.fault(10):
			l.w.count("a POST cut off before its answer")
			l.conn.brokenResponses[o.Ticket] = true
			if l.w.serverRand.IntN(2) == 0 {
				l.conn.receive(o)
			} else {
				l.w.history.recordCut(o.Frame)
			}
			l.endResponse(o.Ticket, io.ErrUnexpectedEOF)
			return
		case l.conn.lost && o.Method != "initialize":
			l.w.count("a lost session at a server")
			l.emit(o.Ticket, upstream.SessionLost{Ticket: o.Ticket})
			l.endResponse(o.Ticket, upstream.ErrSessionLost)
			return
		}
		l.conn.receive(o)
		if !o.Request {
			l.emit(o.Ticket, upstream.Ended{Ticket: o.Ticket})
		}
	})
}

func (l *link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// closeExchange closes an exchange without an event. It returns false if it was already closed.
func (l *link) closeExchange(ticket uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open[ticket]
	delete(l.open, ticket)
	return was
}

// endResponse ends the response to a request.
func (l *link) endResponse(ticket uint64, err error) {
	if l.closeExchange(ticket) {
		l.emit(ticket, upstream.Ended{Ticket: ticket, Err: err})
	}
}

// Cancel implements upstream.Link. The server sees that the response was closed.
func (l *link) Cancel(ticket uint64) {
	if !l.http || !l.closeExchange(ticket) {
		return
	}
	l.emit(ticket, upstream.Ended{Ticket: ticket, Err: context.Canceled})
	l.w.scheduler.After(l.conn.s.latency(), func() { l.conn.hungUp(ticket) })
}

// Listen implements upstream.Link.
func (l *link) Listen() {
	if !l.http {
		return
	}
	l.w.scheduler.After(l.conn.s.latency(), func() { l.openGET() })
}

// openGET opens the GET stream, or reports that the session is lost. While the server is down, it tries again every second.
func (l *link) openGET() {
	switch {
	case l.gone():
	case l.conn.s.down:
		l.w.scheduler.After(time.Second, l.openGET)
	case l.conn.lost:
		l.emit(pipeLane, upstream.SessionLost{})
	default:
		l.conn.listens = true
		l.emit(pipeLane, upstream.Listening{})
	}
}

// SetVersion implements upstream.Link.
func (*link) SetVersion(string) {}

// Close implements upstream.Link.
func (l *link) Close(time.Duration) { l.end(nil) }

// end closes the connection from either side. Any goroutine may call it.
func (l *link) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing, l.cause = true, cause
	if cause != nil {
		l.conn.lostCalls = true
	}
	l.w.scheduler.Schedule(func() {
		l.conn.dead = true
		l.mu.Lock()
		queue, tickets := l.queue, sortedKeys(l.open)
		l.queue = nil
		clear(l.open)
		l.mu.Unlock()
		for _, o := range queue {
			l.emit(writeLane, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		}
		for _, ticket := range tickets {
			l.emit(ticket, upstream.Ended{Ticket: ticket, Err: upstream.ErrClosed})
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closeWhenDrained()
	})
}
