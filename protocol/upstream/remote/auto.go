package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// Dialect remembers how a URL wants to be spoken to, from one link to the next. Its zero value knows nothing.
// Safe for concurrent use.
type Dialect struct{ sse atomic.Bool }

// OpenAuto is OpenHTTP until the server answers an initialize with 400, 404 or 405 and no JSON-RPC message. Then the
// event stream of HTTP+SSE is looked for at the URL, and if it names its endpoint within 10 s the link is that of OpenSSE
// from there on: the initialize is sent again, and who uses the link notices nothing. If not, the initialize ends as
// it did. Any other answer concludes nothing. MCP 2025-11-25, basic/transports#backwards-compatibility.
//
// What was found is kept in known: the next link has its initialize wait for the event stream at once, and goes back to
// streamable HTTP when there is none. Requests before the initialize are questions of a later era and go out over
// streamable HTTP in any case, so that a server that was renewed is noticed.
func OpenAuto(o Options, known *Dialect, sink upstream.Sink) upstream.Link {
	if site, err := parseSite(o); err == nil {
		o.jar = site.jar // a balancer may have set a cookie before the event stream is looked for
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
	if status, is := errors.AsType[*upstream.StatusError](err); is {
		return status.Code == http.StatusBadRequest || status.Code == http.StatusNotFound || status.Code == http.StatusMethodNotAllowed
	}
	return errors.Is(err, errSSEEndpoint)
}

// autoLink is two links, one after the other.
type autoLink struct {
	o     Options
	known *Dialect
	sink  upstream.Sink

	mu         sync.Mutex
	http, sse  upstream.Link     // sse: nil until it is looked for
	link       upstream.Link     // the one that frames go to
	open       int               // links whose Closed has not come
	looking    bool              // for the event stream; the initialize waits for what comes of it
	initialize upstream.Outgoing // the last one; Ticket 0 = none
	refusal    error             // what streamable HTTP said to it; nil = it was not asked, and Written was not told
	version    string
	canceled   bool // the initialize, while looking
	closing    bool
	cause      error // for Closed: that of link
}

func (a *autoLink) Send(o upstream.Outgoing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == a.http && o.Request && o.Method == protocol.MethodInitialize.String() && !a.looking {
		a.initialize, a.refusal = o, nil
		if a.known.sse.Load() && a.sse == nil && !a.closing {
			a.look(endpointWait)
			return
		}
	}
	a.link.Send(o)
}

// look opens the event stream. With mu held.
func (a *autoLink) look(wait time.Duration) {
	a.looking = true
	a.open++
	a.sse = openSSE(a.o, wait, a.sseEvent)
}

func (a *autoLink) Cancel(ticket uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looking && ticket == a.initialize.Ticket {
		a.canceled = true
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
func (a *autoLink) httpEvent(ctx context.Context, e upstream.Event) error {
	switch e := e.(type) {
	case upstream.Ended:
		if a.refused(e) {
			return nil
		}
	case upstream.Closed:
		return a.closed(ctx, e, &a.http)
	}
	return a.sink(ctx, e)
}

// refused looks for HTTP+SSE when e is the right kind of refusal of an initialize; the end of that is not told then.
func (a *autoLink) refused(e upstream.Ended) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Ticket == 0 || e.Ticket != a.initialize.Ticket || a.closing || a.sse != nil || !autoSaysNo(e.Err) {
		return false
	}
	a.refusal = e.Err
	a.look(endpointProbe)
	return true
}

// sseEvent is the sink of HTTP+SSE.
func (a *autoLink) sseEvent(ctx context.Context, e upstream.Event) error {
	switch e := e.(type) {
	case upstream.Opened: // told long ago
		a.found()
		return nil
	case upstream.Written:
		if a.again(e.Ticket) {
			return nil // told when streamable HTTP was tried
		}
	case upstream.NotSent:
		if a.again(e.Ticket) {
			return a.sink(ctx, upstream.Ended(e)) // told as written already
		}
	case upstream.Closed:
		a.missed(ctx, e)
		return a.closed(ctx, e, &a.sse)
	}
	return a.sink(ctx, e)
}

// again reports whether ticket is that of an initialize that was sent twice.
func (a *autoLink) again(ticket uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refusal != nil && ticket == a.initialize.Ticket
}

// found goes over to HTTP+SSE.
func (a *autoLink) found() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing || a.canceled {
		return
	}
	a.known.sse.Store(true)
	a.link, a.looking = a.sse, false
	a.http.Close(0)
	a.sse.SetVersion(a.version)
	a.sse.Send(a.initialize)
	a.initialize.Frame = nil
}

// missed goes back to streamable HTTP when the event stream was closed before it was found: the initialize goes out
// there, or ends as it did.
func (a *autoLink) missed(ctx context.Context, e upstream.Closed) {
	if end := a.giveUp(e.Err); end != nil {
		_ = a.sink(ctx, end)
	}
}

// giveUp returns what is to be told of the initialize; nil = nothing, or nothing yet.
func (a *autoLink) giveUp(why error) upstream.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.looking {
		return nil
	}
	a.looking = false
	if autoSaysNo(why) {
		a.known.sse.Store(false)
	}
	ticket := a.initialize.Ticket
	switch {
	case a.refusal != nil && why != nil:
		return upstream.Ended{Ticket: ticket, Err: fmt.Errorf("%w; and GET of the url: %w", a.refusal, why)}
	case a.refusal != nil:
		return upstream.Ended{Ticket: ticket, Err: a.refusal}
	case a.canceled:
		return upstream.NotSent{Ticket: ticket, Err: context.Canceled}
	case a.closing:
		return upstream.NotSent{Ticket: ticket, Err: upstream.ErrClosed}
	}
	a.http.Send(a.initialize)
	return nil
}

// closed tells Closed when both are.
func (a *autoLink) closed(ctx context.Context, e upstream.Closed, which *upstream.Link) error {
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
	return a.sink(ctx, upstream.Closed{Err: cause})
}
