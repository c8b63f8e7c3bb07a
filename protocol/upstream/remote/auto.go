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

// Dialect remembers the transport of a URL from one link to the next. In its zero value, the transport is unknown.
// It is safe for concurrent use.
type Dialect struct{ sse atomic.Bool }

// OpenAuto behaves like OpenHTTP until the server answers an initialize with 400, 404 or 405 and without a JSON-RPC
// message. Then it requests the event stream of HTTP+SSE from the URL. If the stream sends an endpoint event within
// 10 s, the link behaves like that of OpenSSE from then on and sends the initialize again; the caller does not notice the
// change. Otherwise the initialize ends with the first refusal. Other responses do not change the transport. MCP
// 2025-11-25, basic/transports#backwards-compatibility.
//
// known stores the result. If it is HTTP+SSE, the next link requests the event stream before it sends the initialize,
// and goes back to Streamable HTTP if there is none. Requests before the initialize belong to a later era and are
// always sent over Streamable HTTP, so that an updated server is noticed.
func OpenAuto(o Options, known *Dialect, sink upstream.Sink) upstream.Link {
	if site, err := parseSite(o); err == nil {
		o.jar = site.jar // a load balancer may set a cookie before the event stream is requested
	}
	a := &autoLink{o: o, known: known, sink: sink, open: 1}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.http = OpenHTTP(o, a.httpEvent)
	a.link = a.http
	return a
}

// isUnsupported reports whether err means that the URL does not support a transport. It returns false if the server is
// unreachable.
func isUnsupported(err error) bool {
	if status, is := errors.AsType[*upstream.StatusError](err); is {
		return status.Code == http.StatusBadRequest || status.Code == http.StatusNotFound || status.Code == http.StatusMethodNotAllowed
	}
	return errors.Is(err, errSSEEndpoint)
}

// autoLink is a link over Streamable HTTP that can be replaced by one over HTTP+SSE.
type autoLink struct {
	o     Options
	known *Dialect
	sink  upstream.Sink

	mu         sync.Mutex
	http, sse  upstream.Link     // sse is nil until it is requested
	link       upstream.Link     // http or sse: the link that sends frames
	open       int               // links that have not reported Closed
	probing    bool              // the event stream was requested, and the initialize waits for it
	initialize upstream.Outgoing // the last initialize request; Ticket 0 = none
	refusal    error             // why the initialize was refused over Streamable HTTP; nil = not refused there
	version    string
	canceled   bool // the initialize was canceled while probing
	closing    bool
	cause      error // why link closed; reported in Closed
}

func (a *autoLink) Send(o upstream.Outgoing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == a.http && o.Request && o.Method == protocol.MethodInitialize.String() && !a.probing {
		a.initialize, a.refusal = o, nil
		if a.known.sse.Load() && a.sse == nil && !a.closing {
			a.probe(endpointWait)
			return
		}
	}
	a.link.Send(o)
}

// probe requests the event stream. The caller must hold mu.
func (a *autoLink) probe(wait time.Duration) {
	a.probing = true
	a.open++
	a.sse = openSSE(a.o, wait, a.sseEvent)
}

func (a *autoLink) Cancel(ticket uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.probing && ticket == a.initialize.Ticket {
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

// httpEvent is the sink of Streamable HTTP.
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

// refused tries HTTP+SSE if e ends an initialize with a refusal that suggests HTTP+SSE. It reports whether it did; in
// that case, the caller must not report e.
func (a *autoLink) refused(e upstream.Ended) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.Ticket == 0 || e.Ticket != a.initialize.Ticket || a.closing || a.sse != nil || !isUnsupported(e.Err) {
		return false
	}
	a.refusal = e.Err
	a.probe(endpointProbe)
	return true
}

// sseEvent is the sink of HTTP+SSE.
func (a *autoLink) sseEvent(ctx context.Context, e upstream.Event) error {
	switch e := e.(type) {
	case upstream.Opened: // already reported
		a.switchToSSE()
		return nil
	case upstream.Written:
		if a.sentTwice(e.Ticket) {
			return nil // reported for Streamable HTTP
		}
	case upstream.NotSent:
		if a.sentTwice(e.Ticket) {
			return a.sink(ctx, upstream.Ended(e)) // Written was reported already
		}
	case upstream.Closed:
		a.switchBack(ctx, e)
		return a.closed(ctx, e, &a.sse)
	}
	return a.sink(ctx, e)
}

// sentTwice reports whether ticket belongs to an initialize that is also sent over HTTP+SSE after a refusal.
func (a *autoLink) sentTwice(ticket uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refusal != nil && ticket == a.initialize.Ticket
}

// switchToSSE switches to HTTP+SSE and sends the initialize there.
func (a *autoLink) switchToSSE() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing || a.canceled {
		return
	}
	a.known.sse.Store(true)
	a.link, a.probing = a.sse, false
	a.http.Close(0)
	a.sse.SetVersion(a.version)
	a.sse.Send(a.initialize)
	a.initialize.Frame = nil
}

// switchBack goes back to Streamable HTTP if the event stream ended without an endpoint. The initialize is sent there,
// or ends with its first refusal.
func (a *autoLink) switchBack(ctx context.Context, e upstream.Closed) {
	if end := a.giveUp(e.Err); end != nil {
		_ = a.sink(ctx, end)
	}
}

// giveUp returns the event to report for the initialize, or nil if there is none yet.
func (a *autoLink) giveUp(why error) upstream.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.probing {
		return nil
	}
	a.probing = false
	if isUnsupported(why) {
		a.known.sse.Store(false)
	}
	ticket := a.initialize.Ticket
	switch {
	case a.refusal != nil && why != nil:
		return upstream.Ended{Ticket: ticket, Err: fmt.Errorf("%w; GET of the URL: %w", a.refusal, why)}
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

// closed reports Closed once both links are closed.
func (a *autoLink) closed(ctx context.Context, e upstream.Closed, which *upstream.Link) error {
	a.mu.Lock()
	if a.link == *which {
		a.cause = e.Err
		if a.sse != nil {
			a.sse.Close(0) // the receiver has stopped
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
