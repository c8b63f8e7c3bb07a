package sim

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol/upstream"
)

// link is a connection of the gateway to a simulated server: a process on stdio, or a session over streamable HTTP. What
// it tells goes through lanes: events of one lane keep their order, as bytes of one pipe or one response do.
type link struct {
	w      *world
	conn   *conn // the server's end
	http   bool
	sink   upstream.Sink
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	lanes   map[uint64]*lane
	queue   []upstream.Outgoing // of a process: written in this order
	writing bool                // the next of them is on its way
	open    map[uint64]bool     // HTTP: requests without an end
	ending  bool                // Closed follows when the lanes are empty
	cause   error
	closed  bool
}

// lane is what is to be told one after the other.
type lane struct {
	events  []upstream.Event
	telling bool
}

// The lanes that belong to no response.
const (
	pipeLane  = 0              // stdout, or the GET stream
	writeLane = ^uint64(0)     // Written and NotSent of a process
	closeLane = ^uint64(0) - 1 // Closed
)

func (s *server) open(sink upstream.Sink, token string) upstream.Link {
	l := &link{w: s.w, http: s.http, sink: sink, lanes: map[uint64]*lane{}, open: map[uint64]bool{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.conn = s.connect(l)
	l.conn.token = token
	s.starting()
	if s.down && !s.http {
		l.end(errors.New("it does not start"))
		return l
	}
	l.tell(pipeLane, upstream.Opened{})
	return l
}

// tell queues an event for the gateway.
func (l *link) tell(number uint64, e upstream.Event) {
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

// pump has the next event of a lane told after a while. The caller has the lock.
func (l *link) pump(number uint64, n *lane) {
	if n.telling || len(n.events) == 0 {
		return
	}
	n.telling = true
	lag := l.conn.s.lag
	if len(n.events) > 50 { // it has come long ago
		lag = func() time.Duration { return 0 }
	}
	l.w.fate.Schedule("", func() { l.w.fate.After(lag(), func() { l.deliver(number, n) }) })
}

// deliver tells one event, on a goroutine that waits while the gateway has no room.
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
	go func() {
		err := l.sink(ctx, e)
		l.mu.Lock()
		defer l.mu.Unlock()
		n.telling = false
		if err != nil {
			n.events = nil
		}
		l.pump(number, n)
		l.finish()
	}()
}

// finish tells Closed once all else was told. The caller has the lock.
func (l *link) finish() {
	if !l.ending || l.closed {
		return
	}
	for _, n := range l.lanes {
		if n.telling || len(n.events) > 0 {
			return
		}
	}
	l.closed = true
	n := &lane{events: []upstream.Event{upstream.Closed{Err: l.cause}}}
	l.lanes[closeLane] = n
	l.pump(closeLane, n)
}

// Send implements transport.Link.
func (l *link) Send(o upstream.Outgoing) {
	if l.http {
		l.post(o)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		l.mu.Unlock()
		l.tell(writeLane, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		l.mu.Lock()
		return
	}
	l.queue = append(l.queue, o)
	l.write()
}

// write has a process take its next line after a while. The caller has the lock.
func (l *link) write() {
	if l.writing || len(l.queue) == 0 || l.ending {
		return
	}
	l.writing = true
	l.w.fate.After(l.conn.s.lag(), func() {
		l.mu.Lock()
		l.writing = false
		if l.ending || len(l.queue) == 0 {
			l.mu.Unlock()
			return
		}
		o := l.queue[0]
		l.queue = l.queue[1:]
		l.write()
		l.mu.Unlock()
		l.tell(writeLane, upstream.Written{Ticket: o.Ticket})
		l.conn.take(o)
	})
}

// post is one request of its own.
func (l *link) post(o upstream.Outgoing) {
	l.mu.Lock()
	if l.ending {
		l.mu.Unlock()
		l.tell(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		return
	}
	if o.Request {
		l.open[o.Ticket] = true
	}
	l.mu.Unlock()
	l.w.fate.After(l.conn.s.lag(), func() {
		switch {
		case l.gone():
			l.forget(o.Ticket)
			l.tell(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
			return
		case l.conn.s.down || l.conn.s.fault(20):
			l.w.count("a POST that could not be sent")
			if o.Method == "notifications/initialized" { // without it the connection is not open, and the gateway makes another
				l.conn.trouble = true
			}
			l.forget(o.Ticket)
			l.tell(o.Ticket, upstream.NotSent{Ticket: o.Ticket, Err: errors.New("connection refused")})
			return
		}
		l.tell(o.Ticket, upstream.Written{Ticket: o.Ticket})
		switch {
		case o.Request && l.conn.s.fault(10):
			l.w.count("a POST cut off before its answer")
			l.conn.cut[o.Ticket] = true
			if l.w.srng.IntN(2) == 0 {
				l.conn.take(o)
			} else {
				l.w.book.unseen(o.Frame)
			}
			l.over(o.Ticket, io.ErrUnexpectedEOF)
			return
		case l.conn.lost && o.Method != "initialize":
			l.w.count("a server's session lost")
			l.tell(o.Ticket, upstream.SessionLost{Ticket: o.Ticket})
			l.over(o.Ticket, upstream.ErrSessionLost)
			return
		}
		l.conn.take(o)
		if !o.Request {
			l.tell(o.Ticket, upstream.Ended{Ticket: o.Ticket})
		}
	})
}

func (l *link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending
}

// forget closes an exchange without a word; false when it was closed before.
func (l *link) forget(ticket uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.open[ticket]
	delete(l.open, ticket)
	return was
}

// over ends the response of a request.
func (l *link) over(ticket uint64, err error) {
	if l.forget(ticket) {
		l.tell(ticket, upstream.Ended{Ticket: ticket, Err: err})
	}
}

// Cancel implements transport.Link: the server sees that the client has gone.
func (l *link) Cancel(ticket uint64) {
	if !l.http || !l.forget(ticket) {
		return
	}
	l.tell(ticket, upstream.Ended{Ticket: ticket, Err: context.Canceled})
	l.w.fate.After(l.conn.s.lag(), func() { l.conn.hungUp(ticket) })
}

// Listen implements transport.Link.
func (l *link) Listen() {
	if !l.http {
		return
	}
	l.w.fate.After(l.conn.s.lag(), func() { l.get() })
}

// get opens the GET stream, or learns that the session is lost.
func (l *link) get() {
	switch {
	case l.gone():
	case l.conn.s.down:
		l.w.fate.After(time.Second, l.get)
	case l.conn.lost:
		l.tell(pipeLane, upstream.SessionLost{})
	default:
		l.conn.listens = true
		l.tell(pipeLane, upstream.Listening{})
	}
}

// SetVersion implements transport.Link.
func (*link) SetVersion(string) {}

// Close implements transport.Link.
func (l *link) Close(time.Duration) { l.end(nil) }

// end closes the connection, from either side. It may be called by any goroutine.
func (l *link) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return
	}
	l.ending, l.cause = true, cause
	if cause != nil {
		l.conn.trouble = true
	}
	l.w.fate.Schedule("", func() {
		l.conn.dead = true
		l.mu.Lock()
		queue, tickets := l.queue, sortedKeys(l.open)
		l.queue = nil
		clear(l.open)
		l.mu.Unlock()
		for _, o := range queue {
			l.tell(writeLane, upstream.NotSent{Ticket: o.Ticket, Err: upstream.ErrClosed})
		}
		for _, ticket := range tickets {
			l.tell(ticket, upstream.Ended{Ticket: ticket, Err: upstream.ErrClosed})
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.finish()
	})
}
