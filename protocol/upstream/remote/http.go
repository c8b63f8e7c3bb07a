package remote

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	idleWorkers   = 256                    // goroutines with grown stacks kept for the next exchange, until one sweep has found them unneeded
	sweepEvery    = 30 * time.Second       // how often idle goroutines and connections are looked at
	settleFor     = 250 * time.Millisecond // Close: how long canceled exchanges may still tell their end
	deleteFor     = 5 * time.Second        // Close: longest DELETE, if the grace is not shorter
	unansweredFor = 30 * time.Second       // a notification or response whose POST gets no answer for so long is given up
)

// Options says which URL to speak streamable HTTP or HTTP+SSE with.
type Options struct {
	URL             string
	Headers         map[string]string
	MaxMessageBytes int
	ConnectTimeout  time.Duration // 0 = 10 s
	Budget          *stream.Budget
	Credentials     upstream.Credentials  // nil = none but what Headers hold
	Cookies         func(values []string) // gets the values of the server's cookies whenever they change; it must not block; nil = not wanted

	jar *cookies // of both links of OpenAuto; nil = the link makes its own
}

// OpenHTTP prepares the URL and returns at once; Opened is told, or Closed when URL or headers are no good.
// Plain http is spoken on connections of ours with fasthttp's parser, https and proxies of the environment with net/http.
// MCP 2025-11-25, basic/transports#streamable-http.
//
// Each Send is a POST of its own in a goroutine of its own, or on one that is lent to it (Outgoing.Lend); nothing orders them. There is no timeout but on connecting
// and on notifications: the clocks of a request belong to who sent it and end it with Cancel.
// The headers of the options replace User-Agent and Host; what the protocol itself sets cannot be replaced.
func OpenHTTP(o Options, sink upstream.Sink) upstream.Link {
	o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &httpLink{o: o, sink: upstream.Paced(sink), ctx: ctx, cancel: cancel, opened: make(chan struct{}), calls: map[uint64]*exchange{}}
	l.refusals.Init(l.tell)
	site, err := parseSite(o)
	if err != nil {
		l.closing = true
		go l.finish(err)
		return l
	}
	site.short = true // what a proxy that compresses holds back, a server request for instance, would be worth more than the bytes saved
	l.head = newHead(site, "", "")
	l.trip = newRoundTripper(site, o)
	l.plain = isPlain(l.trip)
	l.running.Go(func() {
		_ = l.tell(upstream.Opened{})
		close(l.opened)
	})
	return l
}

// httpLink is one session with a URL. Goroutines: one for each running exchange and for the GET stream, a few idle ones.
type httpLink struct {
	o        Options
	sink     upstream.Sink
	ctx      context.Context // ends when nobody needs what is still being told
	cancel   context.CancelFunc
	trip     roundTripper
	plain    bool           // it is plainTrip, maybe with credentials
	opened   chan struct{}  // closed once Opened was told
	running  sync.WaitGroup // goroutines that may tell
	refusals upstream.Refusals

	mu       sync.Mutex
	head     *head                // what requests begin with; replaced, never changed
	calls    map[uint64]*exchange // running exchanges by ticket
	listener *exchange            // of the GET stream; nil = none
	level    level                // what is sent waits for
	idle     []*worker            // the last one is the warmest
	guests   []*worker            // without goroutine, for those that are lent
	unlent   int                  // so many exchanges are made without those, as the last one took too long
	fewest   int                  // idle workers at the least since the last sweep
	sweep    *time.Timer          // nil while nothing is idle
	closing  bool
	over     bool // Closed is about to be told
}

// Send starts an exchange.
func (l *httpLink) Send(o upstream.Outgoing) {
	l.mu.Lock()
	if l.closing {
		if !l.over {
			l.refusals.Add(o.Ticket, upstream.ErrClosed)
		}
		l.mu.Unlock()
		return
	}
	if !l.o.Budget.Take(len(o.Frame)) {
		l.refusals.Add(o.Ticket, stream.ErrOverBudget)
		l.mu.Unlock()
		return
	}
	c := &exchange{Outgoing: o, link: l}
	l.calls[o.Ticket] = c
	l.order(c)
	if l.lent(c) {
		l.mu.Unlock()
		return
	}
	if n := len(l.idle); n > 0 {
		w := l.idle[n-1]
		l.idle[n-1] = nil
		l.idle = l.idle[:n-1]
		l.fewest = min(l.fewest, n-1)
		l.mu.Unlock()
		w.jobs <- c // has room: the worker is idle
		return
	}
	l.running.Add(1)
	l.mu.Unlock()
	go newWorker(l).run(c)
}

// Cancel closes the response of ticket, or stops the attempt to connect. Ended or NotSent is told.
func (l *httpLink) Cancel(ticket uint64) {
	l.mu.Lock()
	c := l.calls[ticket]
	l.mu.Unlock()
	if c != nil {
		c.cancel(context.Canceled)
	}
}

// SetVersion has later requests name the version, from 2025-06-18 on, and Mcp-Method and Mcp-Name from 2026-07-28 on.
func (l *httpLink) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != nil {
		l.head = newHead(l.head.site, l.head.session, version)
	}
}

// Close cancels the requests that run, and notifications and answers when grace is over: that a call is cancelled may be among
// them. Then it ends the session with a DELETE, which takes no longer than grace and 5 s.
func (l *httpLink) Close(grace time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing = true
	for _, c := range l.calls {
		if c.Request || grace <= 0 {
			c.cancel(upstream.ErrClosed)
		}
	}
	if l.listener != nil {
		l.listener.cancel(upstream.ErrClosed)
	}
	for _, w := range l.idle {
		close(w.jobs)
	}
	l.idle, l.guests = nil, nil
	if l.sweep != nil {
		l.sweep.Stop()
	}
	go l.end(min(grace, deleteFor))
}

// end waits for the goroutines, deletes the session and tells Closed.
func (l *httpLink) end(grace time.Duration) {
	enough := time.AfterFunc(max(grace, settleFor), l.cancel) // who asked for the end need not make room for ever
	late := time.AfterFunc(grace, l.cancelAll)
	l.running.Wait()
	enough.Stop()
	late.Stop()
	if head := l.current(); head.session != "" && !head.modern() && grace > 0 {
		l.delete(head, grace)
	}
	l.trip.close()
	l.finish(nil)
}

// cancelAll cancels what runs still.
func (l *httpLink) cancelAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		c.cancel(upstream.ErrClosed)
	}
}

// delete ends the session at the server, whose answer does not matter.
func (l *httpLink) delete(head *head, grace time.Duration) {
	c := &exchange{}
	timer := time.AfterFunc(grace, func() { c.cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	var a httpAnswer
	if l.trip.send(c, &httpRequest{verb: "DELETE", head: head}, &a) == nil {
		l.trip.done(&a, false)
	}
}

func (l *httpLink) finish(err error) {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.refusals.Settle()
	l.cancel()
	_ = l.sink(context.Background(), upstream.Closed{Err: err})
}

// tell blocks while the receiver has no room. When nobody listens any more the link ends itself.
func (l *httpLink) tell(e upstream.Event) error {
	err := l.sink(l.ctx, e)
	if err != nil {
		l.Close(0)
	}
	return err
}

func (l *httpLink) current() *head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// begin takes up a session the server has named.
func (l *httpLink) begin(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = newHead(l.head.site, session, l.head.version)
}

// lose forgets a session; false when another has begun meanwhile.
func (l *httpLink) lose(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.session == session {
		l.head = newHead(l.head.site, "", l.head.version)
	}
	return l.head.session == ""
}

// moved remembers where the server has sent us.
func (l *httpLink) moved(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	site := *l.head.site
	site.path = path
	l.head = newHead(&site, l.head.session, l.head.version)
}

// rest parks a worker that has nothing to do; false tells it to end.
func (l *httpLink) rest(w *worker, c *exchange) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Ticket)
	if l.closing || len(l.idle) >= idleWorkers {
		return false
	}
	l.idle = append(l.idle, w)
	l.sweepLater()
	return true
}

// sweepLater sees to it that idle ones are swept. With mu held.
func (l *httpLink) sweepLater() {
	if l.sweep == nil {
		l.fewest = 0
		l.sweep = time.AfterFunc(sweepEvery, l.sweepIdle)
	}
}

// sweepIdle ends the workers that nobody needed since the last sweep, and closes connections likewise.
func (l *httpLink) sweepIdle() {
	busy := l.trip.sweep()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	n := min(l.fewest, len(l.idle)) // the coldest stand in front
	for _, w := range l.idle[:n] {
		close(w.jobs)
	}
	l.idle = append(l.idle[:0], l.idle[n:]...)
	clear(l.idle[len(l.idle):cap(l.idle)])
	l.fewest = len(l.idle)
	l.guests = nil
	if len(l.idle) == 0 && !busy {
		l.sweep = nil
		return
	}
	l.sweep.Reset(sweepEvery)
}

// exchange is a running exchange.
type exchange struct {
	upstream.Outgoing                 // zero for GET and DELETE
	link              teller          // nil likewise
	session           string          // what its request carried
	written           bool            // Written was told
	lent              bool            // its goroutine was lent: it cannot wait for long
	ended             bool            // Received{Last}, Ended or NotSent was told
	after             <-chan struct{} // closed when it may begin; nil = at once

	mu    sync.Mutex
	cause error     // canceled
	stop  io.Closer // unblocks the exchange: its connection, or the attempt to get one
}

// teller is a link as its exchanges know it.
type teller interface{ tell(upstream.Event) error }

// wrote is called by the trip when the connection has taken the first byte.
func (c *exchange) wrote() {
	if !c.written && c.link != nil {
		c.written = true
		_ = c.link.tell(upstream.Written{Ticket: c.Ticket})
	}
}

// hold names what Cancel is to close from now on; nil = nothing. It returns why the call is canceled, and then closes stop.
func (c *exchange) hold(stop io.Closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = stop
	if c.cause != nil && stop != nil {
		_ = stop.Close()
	}
	return c.cause
}

// cancel ends the exchange; the first cause counts.
func (c *exchange) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return
	}
	c.cause = cause
	if c.stop != nil {
		_ = c.stop.Close()
	}
}

// canceled returns why the call was canceled; nil when it was not.
func (c *exchange) canceled() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// why returns the reason of a cancel rather than the error it caused, and that in words for people.
func (c *exchange) why(err error) error {
	return cmp.Or(c.canceled(), inWords(err))
}

// cancelFunc makes a context's cancel something to hold.
type cancelFunc context.CancelFunc

func (f cancelFunc) Close() error { f(); return nil }
