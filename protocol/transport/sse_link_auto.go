package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
)

// Dialect remembers how a URL wants to be spoken to, from one link to the next. Its zero value knows nothing.
// Safe for concurrent use.
type Dialect struct{ sse atomic.Bool }

// OpenAuto is OpenHTTP until the server answers an initialize with 400, 404 or 405 and no JSON-RPC message. Then the
// event stream of HTTP+SSE is looked for at the URL, and if it names its endpoint within 10 s the link is that of OpenSSE
// from there on: the initialize is sent again, and who uses the link notices nothing. If not, the initialize ends as
// it did. Any other answer concludes nothing. MCP 2025-11-25, basic/transports#backwards-compatibility.
//
// What was found is kept in known, and the next link begins with it.
func OpenAuto(o HTTPOptions, known *Dialect, sink Sink) Link {
	if known.sse.Load() {
		return OpenSSE(o, func(ctx context.Context, e Event) error {
			if e, last := e.(Closed); last && autoSaysNo(e.Err) {
				known.sse.Store(false)
			}
			return sink(ctx, e)
		})
	}
	a := &autoLink{o: o, known: known, sink: sink, open: 1}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.http = OpenHTTP(o, a.httpEvent)
	a.link = a.http
	return a
}

// autoSaysNo reports whether err means that the URL does not speak a transport, rather than that it cannot be reached.
func autoSaysNo(err error) bool {
	if status, is := errors.AsType[*StatusError](err); is {
		return status.Code == http.StatusBadRequest || status.Code == http.StatusNotFound || status.Code == http.StatusMethodNotAllowed
	}
	return errors.Is(err, errSSEEndpoint)
}

// autoLink is two links, one after the other.
type autoLink struct {
	o     HTTPOptions
	known *Dialect
	sink  Sink

	mu         sync.Mutex
	http, sse  Link     // sse: nil until it is looked for
	link       Link     // the one that frames go to
	open       int      // links whose Closed has not come
	initialize Outgoing // the last one, while nothing but a refusal came of it; Ticket 0 = none
	refusal    Ended    // of the initialize, while HTTP+SSE is looked for; Ticket 0 = it is not
	version    string
	closing    bool
	cause      error // for Closed: that of link
}

func (a *autoLink) Send(o Outgoing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == a.http && o.Request && o.Method == protocol.MethodInitialize.String() {
		a.initialize = o
	}
	a.link.Send(o)
}

func (a *autoLink) Cancel(ticket uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ticket != 0 && ticket == a.refusal.Ticket {
		a.sse.Close(0)
		return
	}
	a.link.Cancel(ticket)
}

func (a *autoLink) Listen() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.link.Listen()
}

func (a *autoLink) SetVersion(version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version = version
	a.link.SetVersion(version)
}

func (a *autoLink) Close(grace time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closing = true
	a.http.Close(grace)
	if a.sse != nil {
		a.sse.Close(grace)
	}
}

// httpEvent is the sink of streamable HTTP.
func (a *autoLink) httpEvent(ctx context.Context, e Event) error {
	switch e := e.(type) {
	case Ended:
		if a.refused(e) {
			return nil
		}
	case Closed:
		return a.closed(ctx, e, &a.http)
	}
	return a.sink(ctx, e)
}

// refused looks for HTTP+SSE when e is the right kind of refusal of an initialize; the end of that is not told then.
func (a *autoLink) refused(e Ended) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Ticket == 0 || e.Ticket != a.initialize.Ticket || a.closing || a.sse != nil || !autoSaysNo(e.Err) {
		return false
	}
	a.refusal = e
	a.open++
	a.sse = openSSE(a.o, sseLinkProbe, a.sseEvent)
	return true
}

// sseEvent is the sink of HTTP+SSE.
func (a *autoLink) sseEvent(ctx context.Context, e Event) error {
	switch e := e.(type) {
	case Opened: // told long ago
		a.found()
		return nil
	case Written:
		if e.Ticket == a.again() {
			return nil // told when streamable HTTP was tried
		}
	case NotSent:
		if e.Ticket == a.again() {
			return a.sink(ctx, Ended(e)) // told as written already
		}
	case Closed:
		a.lost(ctx, e)
		return a.closed(ctx, e, &a.sse)
	}
	return a.sink(ctx, e)
}

// again returns the ticket of the initialize that was sent twice.
func (a *autoLink) again() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.initialize.Ticket
}

// found goes over to HTTP+SSE.
func (a *autoLink) found() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		return
	}
	a.known.sse.Store(true)
	a.link, a.refusal = a.sse, Ended{}
	a.http.Close(0)
	a.sse.SetVersion(a.version)
	a.sse.Send(a.initialize)
	a.initialize.Frame = nil
}

// lost tells the end of the initialize when there was no HTTP+SSE either.
func (a *autoLink) lost(ctx context.Context, e Closed) {
	a.mu.Lock()
	refusal := a.refusal
	a.refusal = Ended{}
	a.mu.Unlock()
	if refusal.Ticket == 0 {
		return
	}
	if e.Err != nil {
		refusal.Err = fmt.Errorf("%w; and GET of the url: %w", refusal.Err, e.Err)
	}
	_ = a.sink(ctx, refusal)
}

// closed tells Closed when both are.
func (a *autoLink) closed(ctx context.Context, e Closed, which *Link) error {
	a.mu.Lock()
	if a.link == *which {
		a.cause = e.Err
		if a.sse != nil {
			a.sse.Close(0) // nobody listens any more
		}
	}
	a.open--
	last, cause := a.open == 0, a.cause
	a.mu.Unlock()
	if !last {
		return nil
	}
	return a.sink(ctx, Closed{Err: cause})
}
