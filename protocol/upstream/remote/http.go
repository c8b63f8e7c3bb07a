package remote

import (
	"cmp"
	"context"
	"io"
	"net"
	"sync"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	idleWorkers   = 256                    // maximum number of idle goroutines, which are kept because their stacks have grown
	sweepEvery    = 30 * time.Second       // interval for ending idle goroutines and connections
	settleFor     = 250 * time.Millisecond // how long canceled exchanges may report their end after Close
	deleteFor     = 5 * time.Second        // maximum time for the DELETE of Close
	unansweredFor = 30 * time.Second       // timeout for the POST of a notification or response
)

// Options describes a server at a URL.
type Options struct {
	URL             string
	Headers         map[string]string
	MaxMessageBytes int
	ConnectTimeout  time.Duration // 0 = 10 s
	Budget          *stream.Budget
	Credentials     upstream.Credentials  // nil = only those in Headers
	Cookies         func(values []string) // receives the values of the server's cookies after each change; must not block; may be nil

	// Dial opens a connection on which the server is reached over HTTP/1.1, instead of connecting to the host in URL. It fails when ctx
	// ends. The connection may be encrypted. If it does not implement syscall.Conn, for the underlying socket, it is reused only
	// shortly after a request, since the link cannot check whether the server has closed it. nil = connect to the host in URL.
	Dial func(ctx context.Context) (net.Conn, error)

	jar *cookies // shared by both links of OpenAuto; nil = the link creates one
}

// OpenHTTP prepares the URL and returns at once. It reports Opened, or Closed if the URL or a header is invalid. Plain
// HTTP uses the package's own connections and fasthttp's parser. HTTPS, and proxies from the environment, use net/http.
// MCP 2025-11-25, basic/transports#streamable-http.
//
// Each Send is a POST in its own goroutine, or on the goroutine that waits for the response (Outgoing.RunInline). The
// POSTs are not ordered. Only connecting, notifications and responses have timeouts. The caller limits the time of a
// request with Cancel. Options.Headers can replace User-Agent and Host, but not the headers that the protocol sets.
func OpenHTTP(o Options, sink upstream.Sink) upstream.Link {
	o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &httpLink{o: o, sink: upstream.Paced(sink), ctx: ctx, cancel: cancel, opened: make(chan struct{}), calls: map[uint64]*exchange{}}
	l.refusals.Init(l.report)
	site, err := parseSite(o)
	if err != nil {
		l.closing = true
		go l.finish(err)
		return l
	}
	site.short = true // a compressing proxy might delay a message, such as a server request
	l.head = newHead(site, "", "")
	l.transport = newRoundTripper(site, o)
	l.plain = isPlain(l.transport)
	l.running.Go(func() {
		_ = l.report(upstream.Opened{})
		close(l.opened)
	})
	return l
}

// httpLink is a session with a server. It has one goroutine for each running exchange that is not inline, one for the
// GET stream, and up to idleWorkers idle ones.
type httpLink struct {
	o         Options
	sink      upstream.Sink
	ctx       context.Context // ends when the remaining events are no longer needed
	cancel    context.CancelFunc
	transport roundTripper
	plain     bool           // transport is a plainTransport, with or without credentials
	opened    chan struct{}  // closed after Opened was reported
	running   sync.WaitGroup // goroutines that may report events
	refusals  upstream.Refusals

	mu       sync.Mutex
	head     *head                // common start of requests; immutable, replaced on change
	calls    map[uint64]*exchange // running exchanges by ticket
	listener *exchange            // the exchange of the GET stream; nil = none
	level    level                // the logging level that later requests wait for
	idle     []*worker            // most recently used last

	inlineWorkers []*worker // workers without a goroutine of their own, for inline exchanges
	inlinePause   int       // number of further exchanges that are not run inline, because an inline exchange was slow

	fewest  int         // smallest number of idle workers since the last sweep
	sweep   *time.Timer // nil while nothing is idle
	closing bool
	over    bool // Closed is about to be reported
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
	if l.runInline(c) {
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

// Cancel closes the response to ticket, or aborts its connection attempt. Ended or NotSent follows.
func (l *httpLink) Cancel(ticket uint64) {
	l.mu.Lock()
	c := l.calls[ticket]
	l.mu.Unlock()
	if c != nil {
		c.cancel(context.Canceled)
	}
}

// SetVersion sets the version of later requests. From 2025-06-18 on it is sent as a header, from 2026-07-28 on together with
// Mcp-Method and Mcp-Name.
func (l *httpLink) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != nil {
		l.head = newHead(l.head.site, l.head.session, version)
	}
}

// Close cancels running requests at once. Notifications and responses may finish within grace, since one of them may
// be a cancellation. Then a legacy session is ended with a DELETE, again within grace; if grace is 0, no DELETE is
// sent. Grace is at most 5 s. Close does not block.
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
	l.idle, l.inlineWorkers = nil, nil
	if l.sweep != nil {
		l.sweep.Stop()
	}
	go l.end(min(grace, deleteFor))
}

// end waits for the goroutines, deletes the session and reports Closed.
func (l *httpLink) end(grace time.Duration) {
	enough := time.AfterFunc(max(grace, settleFor), l.cancel) // the receiver may have stopped receiving
	late := time.AfterFunc(grace, l.cancelAll)
	l.running.Wait()
	enough.Stop()
	late.Stop()
	if head := l.current(); head.session != "" && !head.modern() && grace > 0 {
		l.delete(head, grace)
	}
	l.transport.close()
	l.finish(nil)
}

// cancelAll cancels the running exchanges.
func (l *httpLink) cancelAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		c.cancel(upstream.ErrClosed)
	}
}

// delete ends the session at the server. The response does not matter.
func (l *httpLink) delete(head *head, grace time.Duration) {
	c := &exchange{}
	timer := time.AfterFunc(grace, func() { c.cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	var a httpAnswer
	if l.transport.send(c, &httpRequest{verb: "DELETE", head: head}, &a) == nil {
		l.transport.done(&a, false)
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

// report reports an event. It blocks while the receiver does not accept events. If the receiver has stopped, the link
// closes itself.
func (l *httpLink) report(e upstream.Event) error {
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

// setSession stores the session id that the server has assigned.
func (l *httpLink) setSession(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = newHead(l.head.site, session, l.head.version)
}

// dropSession drops a session. It returns false if another session has already started.
func (l *httpLink) dropSession(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.session == session {
		l.head = newHead(l.head.site, "", l.head.version)
	}
	return l.head.session == ""
}

// setPath stores the path of a redirect.
func (l *httpLink) setPath(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	site := *l.head.site
	site.path = path
	l.head = newHead(&site, l.head.session, l.head.version)
}

// keepIdle keeps a worker for the next exchange. If it returns false, the worker must end.
func (l *httpLink) keepIdle(w *worker, c *exchange) bool {
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

// sweepLater schedules a sweep of idle workers. The caller must hold mu.
func (l *httpLink) sweepLater() {
	if l.sweep == nil {
		l.fewest = 0
		l.sweep = time.AfterFunc(sweepEvery, l.sweepIdle)
	}
}

// sweepIdle ends workers that have been idle since the last sweep, and closes idle connections.
func (l *httpLink) sweepIdle() {
	busy := l.transport.sweep()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	n := min(l.fewest, len(l.idle)) // least recently used first
	for _, w := range l.idle[:n] {
		close(w.jobs)
	}
	l.idle = append(l.idle[:0], l.idle[n:]...)
	clear(l.idle[len(l.idle):cap(l.idle)])
	l.fewest = len(l.idle)
	l.inlineWorkers = nil
	if len(l.idle) == 0 && !busy {
		l.sweep = nil
		return
	}
	l.sweep.Reset(sweepEvery)
}

// exchange is the state of one HTTP exchange while it runs.
type exchange struct {
	upstream.Outgoing                 // zero for GET and DELETE
	link              reporter        // nil for GET and DELETE
	session           string          // the session id in its request
	written           bool            // Written was reported
	inline            bool            // runs on the goroutine that waits for the response, and must not block it for long
	ended             bool            // Received{Last}, Ended or NotSent was reported
	after             <-chan struct{} // closed when it may start; nil = at once

	mu    sync.Mutex
	cause error     // why it was canceled; nil = it was not
	stop  io.Closer // unblocks the exchange: its connection, or the connection attempt
}

// reporter is the part of a link that exchanges use.
type reporter interface{ report(upstream.Event) error }

// wrote reports Written. The transport calls it when the connection has accepted the first byte.
func (c *exchange) wrote() {
	if !c.written && c.link != nil {
		c.written = true
		_ = c.link.report(upstream.Written{Ticket: c.Ticket})
	}
}

// setStop sets what cancel closes; nil = nothing. If the exchange is already canceled, it closes stop and returns the cause.
func (c *exchange) setStop(stop io.Closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = stop
	if c.cause != nil && stop != nil {
		_ = stop.Close()
	}
	return c.cause
}

// cancel ends the exchange. Only the first cause counts.
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

// canceled returns why the exchange was canceled, or nil.
func (c *exchange) canceled() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// why returns the cause of a cancellation, or err in readable form.
func (c *exchange) why(err error) error {
	return cmp.Or(c.canceled(), readable(err))
}

// cancelFunc adapts a context's cancel function to io.Closer.
type cancelFunc context.CancelFunc

func (f cancelFunc) Close() error { f(); return nil }
