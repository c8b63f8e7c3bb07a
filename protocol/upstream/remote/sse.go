package remote

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	endpointWait  = 30 * time.Second // maximum wait for the endpoint event of a URL that is configured as HTTP+SSE; the server may start slowly
	endpointProbe = 10 * time.Second // maximum wait for the endpoint event if HTTP+SSE is only a guess
)

// OpenSSE opens the event stream of a server over HTTP+SSE and returns at once: MCP 2024-11-05,
// basic/transports#http-with-sse. It reports Opened when the server has sent its endpoint. It reports Closed if there
// is no endpoint event within 30 s, if the endpoint has another origin, and when the stream ends, since it cannot be
// resumed.
//
// Each Send is a POST to the endpoint in its own goroutine. The POSTs are not ordered. The server's messages arrive on
// the stream, with ticket 0. The link reports Ended{nil} for an accepted notification or response, and Ended with an
// error or Received{Last} for a refused POST. It reports nothing more for an accepted request, unless the response to
// the POST contains an error without an id. Cancel closes a running POST. The link itself refuses server/discover, with
// status 405.
func OpenSSE(o Options, sink upstream.Sink) upstream.Link { return openSSE(o, endpointWait, sink) }

func openSSE(o Options, wait time.Duration, sink upstream.Sink) *sseLink {
	o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &sseLink{o: o, sink: upstream.Paced(sink), ctx: ctx, cancel: cancel, stream: &exchange{},
		calls: map[uint64]*sseCall{}, byID: map[string]*sseCall{}}
	l.refusals.Init(l.report)
	site, err := parseSite(o)
	if err != nil {
		l.closing, l.cause = true, err
		go l.end(0)
		return l
	}
	l.head = newHead(site, "", "")
	l.transport = newRoundTripper(site, o)
	l.running.Go(func() { l.run(wait) })
	return l
}

// sseLink is a session over HTTP+SSE. It has one goroutine for the stream and one for each running POST.
type sseLink struct {
	o         Options
	sink      upstream.Sink
	ctx       context.Context // ends when the remaining events are no longer needed
	cancel    context.CancelFunc
	transport roundTripper
	stream    *exchange      // the GET
	posts     sync.Pool      // of *ssePost
	running   sync.WaitGroup // goroutines that may report events
	refusals  upstream.Refusals

	mu      sync.Mutex
	head    *head               // common start of requests; immutable, replaced on change
	opened  bool                // Opened was reported; head contains the endpoint
	listens bool                // Listen was called
	waiting []*sseCall          // sent before the endpoint was known, in order
	calls   map[uint64]*sseCall // running POSTs by ticket
	byID    map[string]*sseCall // running POSTs of requests, by the raw id of the request
	sweep   *time.Timer         // nil while no connection is idle
	closing bool
	over    bool  // Closed is about to be reported
	cause   error // the error to report in Closed
}

// sseCall is a frame that is being sent.
type sseCall struct {
	exchange
	id       string // raw id of a request; guarded by the link's mu
	answered bool   // its answer arrived on the stream, so the result of the POST does not matter; also guarded by the link's mu
}

var errSSECanceled = errors.New("canceled before it was sent")

// errSSELegacy refuses server/discover, which is not sent over this transport. The transport dates from 2024-11-05,
// and some servers that use it stop responding or end the session if a request precedes initialize.
var errSSELegacy = &upstream.StatusError{Code: http.StatusMethodNotAllowed, Body: []byte("HTTP+SSE supports the legacy era only")}

// Send starts a POST, or queues the frame until the endpoint is known.
func (l *sseLink) Send(o upstream.Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
	case l.closing:
		l.refusals.Add(o.Ticket, upstream.ErrClosed)
	case !l.o.Budget.Take(len(o.Frame)):
		l.refusals.Add(o.Ticket, stream.ErrOverBudget)
	case o.Request && o.Method == protocol.MethodServerDiscover.String():
		l.o.Budget.Give(len(o.Frame))
		l.refusals.Soon(upstream.Written{Ticket: o.Ticket}, upstream.Ended{Ticket: o.Ticket, Err: errSSELegacy})
	default:
		c := &sseCall{exchange: exchange{Outgoing: o, link: l}}
		if !l.opened {
			l.waiting = append(l.waiting, c)
			return
		}
		l.start(c)
	}
}

// start runs a POST. The caller must hold mu.
func (l *sseLink) start(c *sseCall) {
	l.calls[c.Ticket] = c
	l.running.Go(func() { l.post(c) })
}

// Cancel closes the POST of ticket. Ended or NotSent follows, unless the server has accepted it.
func (l *sseLink) Cancel(ticket uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.calls[ticket]; c != nil {
		c.cancel(context.Canceled)
		return
	}
	i := slices.IndexFunc(l.waiting, func(c *sseCall) bool { return c.Ticket == ticket })
	if i >= 0 {
		l.refuse(l.waiting[i], errSSECanceled)
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// refuse reports NotSent for a frame that waits for the endpoint. The caller must hold mu.
func (l *sseLink) refuse(c *sseCall, err error) {
	l.o.Budget.Give(len(c.Frame))
	l.refusals.Add(c.Ticket, err)
}

// Listen reports Listening, once the stream is open.
func (l *sseLink) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = true
	if l.opened && !l.closing {
		l.refusals.Soon(upstream.Listening{})
	}
}

// SetVersion sets the version of later POSTs, which is a header from 2025-06-18 on. Versions from 2026-07-28 on do not
// use this transport.
func (l *sseLink) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != nil && version < modernSince {
		l.head = newHead(l.head.site, "", version)
	}
}

// Close ends the stream, which also ends the session at the server.
func (l *sseLink) Close(grace time.Duration) { l.shut(nil, grace) }

// shut closes the link. Only the first cause counts.
func (l *sseLink) shut(cause error, grace time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing, l.cause = true, cause
	for _, c := range l.waiting {
		l.refuse(c, cmp.Or(cause, upstream.ErrClosed))
	}
	l.waiting = nil
	for _, c := range l.calls {
		c.cancel(cmp.Or(cause, upstream.ErrClosed))
	}
	l.stream.cancel(cmp.Or(cause, upstream.ErrClosed))
	if l.sweep != nil {
		l.sweep.Stop()
	}
	go l.end(grace)
}

// end waits for the goroutines and reports Closed.
func (l *sseLink) end(grace time.Duration) {
	enough := time.AfterFunc(max(grace, settleFor), l.cancel) // the receiver may have stopped receiving
	l.running.Wait()
	enough.Stop()
	if l.transport != nil {
		l.transport.close()
	}
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.refusals.Settle()
	l.cancel()
	_ = l.sink(context.Background(), upstream.Closed{Err: l.cause})
}

// report reports an event. It blocks while the receiver does not accept events. If the receiver has stopped, the link
// closes itself.
func (l *sseLink) report(e upstream.Event) error {
	err := l.sink(l.ctx, e)
	if err != nil {
		l.Close(0)
	}
	return err
}

func (l *sseLink) current() *head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// setPath sends later requests to path, which may have a query.
func (l *sseLink) setPath(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	site := *l.head.site
	site.path = path
	l.head = newHead(&site, "", l.head.version)
}
