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
	endpointWait  = 30 * time.Second // for the endpoint event, from the start: a URL configured as HTTP+SSE may wake up slowly
	endpointProbe = 10 * time.Second // likewise where it is only a guess that the URL speaks it
)

// OpenSSE opens the event stream of a server that speaks HTTP+SSE and returns at once: MCP 2024-11-05, basic/transports#http-with-sse.
// Opened is told when the server has named its endpoint; Closed when it names none within 30 s or one of another origin,
// and when the stream ends: there is no way to take it up again.
//
// Each Send is a POST to the endpoint in a goroutine of its own; nothing orders them. What the server has to say comes on
// the stream, with ticket 0. Ended{nil} is told of an accepted notification or response, Ended with an error, or
// Received{Last}, of a POST that was refused; of an accepted request nothing more. Cancel closes a POST that still runs.
// server/discover is refused by the link itself, with 405.
func OpenSSE(o Options, sink upstream.Sink) upstream.Link { return openSSE(o, endpointWait, sink) }

func openSSE(o Options, wait time.Duration, sink upstream.Sink) *sseLink {
	o.MaxMessageBytes = upstream.MaxMessage(o.MaxMessageBytes)
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &sseLink{o: o, sink: upstream.Paced(sink), ctx: ctx, cancel: cancel, stream: &exchange{},
		calls: map[uint64]*sseCall{}, byID: map[string]*sseCall{}}
	l.refusals.Init(l.tell)
	site, err := parseSite(o)
	if err != nil {
		l.closing, l.cause = true, err
		go l.end(0)
		return l
	}
	l.head = newHead(site, "", "")
	l.trip = newRoundTripper(site, o)
	l.running.Go(func() { l.run(wait) })
	return l
}

// sseLink is one stream of a server. Goroutines: one reads the stream, and one for each running POST.
type sseLink struct {
	o        Options
	sink     upstream.Sink
	ctx      context.Context // ends when nobody needs what is still being told
	cancel   context.CancelFunc
	trip     roundTripper
	stream   *exchange      // the GET
	posts    sync.Pool      // of *ssePost
	running  sync.WaitGroup // goroutines that may tell
	refusals upstream.Refusals

	mu      sync.Mutex
	head    *head               // what requests begin with; replaced, never changed
	opened  bool                // Opened was told; head names the endpoint
	listens bool                // Listen was called
	waiting []*sseCall          // sent before; in order
	calls   map[uint64]*sseCall // running POSTs by ticket
	byID    map[string]*sseCall // those of requests, by the raw id of the request
	sweep   *time.Timer         // nil while no connection is idle
	closing bool
	over    bool  // Closed is about to be told
	cause   error // for Closed
}

// sseCall is a frame on its way.
type sseCall struct {
	exchange
	id       string // of a request, raw; guarded by the link's mu
	answered bool   // its answer came on the stream: what becomes of the POST is of no interest; guarded likewise
}

var errSSECanceled = errors.New("canceled before it was sent")

// errSSELegacy is the answer to a question of a later era, which is not put to a server of this transport: it is of
// 2024-11-05, and some go silent or end the session when asked anything before initialize.
var errSSELegacy = &upstream.StatusError{Code: http.StatusMethodNotAllowed, Body: []byte("http+sse is spoken in the legacy era only")}

// Send starts a POST, or keeps the frame until the endpoint is known.
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

// start runs a POST. With mu held.
func (l *sseLink) start(c *sseCall) {
	l.calls[c.Ticket] = c
	l.running.Go(func() { l.post(c) })
}

// Cancel closes the POST of ticket. Ended or NotSent is told, unless the server has accepted it already.
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

// refuse has NotSent told of a frame that waits for the endpoint. With mu held.
func (l *sseLink) refuse(c *sseCall, err error) {
	l.o.Budget.Give(len(c.Frame))
	l.refusals.Add(c.Ticket, err)
}

// Listen has nothing to do but to tell Listening: the stream is open, or will be when Opened is told.
func (l *sseLink) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = true
	if l.opened && !l.closing {
		l.refusals.Soon(upstream.Listening{})
	}
}

// SetVersion has later POSTs name the version, from 2025-06-18 on. No server of 2026-07-28 or later is reached this way.
func (l *sseLink) SetVersion(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != nil && version < modernSince {
		l.head = newHead(l.head.site, "", version)
	}
}

// Close ends the stream, and with it the session at the server.
func (l *sseLink) Close(grace time.Duration) { l.shut(nil, grace) }

// shut ends everything; the first cause counts.
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

// end waits for the goroutines and tells Closed.
func (l *sseLink) end(grace time.Duration) {
	enough := time.AfterFunc(max(grace, settleFor), l.cancel) // who asked for the end need not make room for ever
	l.running.Wait()
	enough.Stop()
	if l.trip != nil {
		l.trip.close()
	}
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.refusals.Settle()
	l.cancel()
	_ = l.sink(context.Background(), upstream.Closed{Err: l.cause})
}

// tell blocks while the receiver has no room. When nobody listens any more the link ends itself.
func (l *sseLink) tell(e upstream.Event) error {
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

// moved sends later requests to path, which may have a query.
func (l *sseLink) moved(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	site := *l.head.site
	site.path = path
	l.head = newHead(&site, "", l.head.version)
}
