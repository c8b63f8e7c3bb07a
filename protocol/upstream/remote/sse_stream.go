package remote

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	sseLinkEvent   = "endpoint" // name of the first event
	sseLinkURL     = 8 << 10    // maximum length of an endpoint
	sseLinkStrange = 100        // maximum number of events before the endpoint event
)

// errSSEEndpoint means that the URL responds, but not with an event stream that contains an endpoint event.
var errSSEEndpoint = errors.New("the URL offers no HTTP+SSE endpoint")

// run reads the stream and closes the link when the stream ends.
func (l *sseLink) run(wait time.Duration) {
	err := l.read(wait)
	l.shut(l.stream.why(err), 0)
}

// read opens the stream, reports its messages, and returns why it ended.
func (l *sseLink) read(wait time.Duration) error {
	late := time.AfterFunc(wait, func() {
		l.stream.cancel(fmt.Errorf("%w: no endpoint event within %v", errSSEEndpoint, wait))
	})
	defer late.Stop()
	var a httpAnswer
	if err := l.get(&a); err != nil {
		return err
	}
	defer func() {
		_ = l.stream.setStop(nil)
		l.transport.done(&a, false)
	}()
	if a.status != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(a.body, errorBodyBytes))
		return l.current().site.refusal(&a, body)
	}
	if a.unreadable != nil {
		return fmt.Errorf("%w: %w", errSSEEndpoint, a.unreadable)
	}
	if !a.sse {
		return fmt.Errorf("%w: the GET response is not an event stream", errSSEEndpoint)
	}
	sse := stream.NewEventReader(l.o.MaxMessageBytes, l.o.Budget)
	defer sse.Rope.Reset()
	sse.Also = sseLinkEvent
	sse.Reset(a.body)
	path, err := l.endpoint(&sse)
	if err != nil {
		return err
	}
	late.Stop()
	if err := l.open(path); err != nil {
		return err
	}
	for {
		if err := l.event(&sse); err != nil {
			return err
		}
	}
}

// get requests the stream and follows redirects within the origin.
func (l *sseLink) get(a *httpAnswer) error {
	for range maxRedirects {
		head := l.current()
		if err := l.transport.send(l.stream, &httpRequest{verb: http.MethodGet, head: head}, a); err != nil {
			return err
		}
		switch a.status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return nil
		}
		path, same := head.site.redirect(a.location)
		elsewhere := head.site.refusal(a, nil)
		_ = l.stream.setStop(nil)
		l.transport.done(a, false)
		if !same {
			return elsewhere
		}
		l.setPath(path)
	}
	return &upstream.StatusError{Code: a.status, Body: []byte("too many redirects")}
}

// endpoint reads up to the endpoint event and returns the path for POSTs.
func (l *sseLink) endpoint(sse *stream.EventReader) (path string, err error) {
	for range sseLinkStrange {
		data, err := sse.Next()
		switch {
		case err == io.EOF:
			return "", fmt.Errorf("%w: the stream ended without an endpoint event", errSSEEndpoint)
		case errors.Is(err, stream.ErrFrameTooLarge), errors.Is(err, stream.ErrOverBudget):
		case err != nil:
			return "", fmt.Errorf("read stream: %w", err)
		case sse.Name == sseLinkEvent:
			return l.current().site.endpoint(string(data[:min(len(data), sseLinkURL+1)]))
		}
	}
	return "", fmt.Errorf("%w: no endpoint event among the first %d events", errSSEEndpoint, sseLinkStrange)
}

// endpoint returns the path and query of the URL in an endpoint event. The URL must have the origin of the configured
// URL, since no other origin may get the configured headers, which may contain secrets. MCP 2024-11-05,
// basic/transports#http-with-sse.
func (s *site) endpoint(reference string) (path string, err error) {
	if len(reference) > sseLinkURL {
		return "", fmt.Errorf("%w: the URL in the endpoint event is longer than %d bytes", errSSEEndpoint, sseLinkURL)
	}
	base, err := url.ParseRequestURI(s.path) // after a redirect, it differs from the configured one
	if err != nil {
		return "", fmt.Errorf("%w: %.200q has no path", errSSEEndpoint, s.path)
	}
	base.Scheme, base.Host = s.url.Scheme, s.url.Host
	to, err := base.Parse(strings.Trim(reference, stream.Whitespace))
	if err != nil || to.Opaque != "" {
		return "", fmt.Errorf("%w: the URL in the endpoint event is invalid: %.200q", errSSEEndpoint, reference)
	}
	if to.Scheme != s.url.Scheme || hostPort(to) != hostPort(s.url) && !strings.EqualFold(to.Host, s.host) {
		return "", fmt.Errorf("the endpoint event names a URL at %.200q, which is not the origin of the configured URL, %q",
			to.Scheme+"://"+to.Host, s.url.Scheme+"://"+s.url.Host)
	}
	path = to.RequestURI()
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("%w: the URL in the endpoint event contains invalid characters: %.200q", errSSEEndpoint, path)
	}
	return path, nil
}

// hostPort returns the host and port of a URL in lower case.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// open reports Opened and sends the frames that waited for the endpoint.
func (l *sseLink) open(path string) error {
	l.setPath(path)
	if err := l.report(upstream.Opened{}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return upstream.ErrClosed
	}
	l.opened = true
	if l.listens {
		l.refusals.Soon(upstream.Listening{})
	}
	for _, c := range l.waiting {
		l.start(c)
	}
	l.waiting = nil
	return nil
}

// event reports the frames of the next event. An error ends the stream.
func (l *sseLink) event(sse *stream.EventReader) error {
	data, err := sse.Next()
	switch {
	case err == io.EOF:
		return errStreamEnded
	case errors.Is(err, stream.ErrFrameTooLarge), errors.Is(err, stream.ErrOverBudget):
		return l.report(upstream.Noise{Err: fmt.Errorf("read stream: %w", err)})
	case err != nil:
		return fmt.Errorf("read stream: %w", err)
	case sse.Name != "":
		return nil // another endpoint event is ignored
	}
	sinkErr := error(nil)
	err = upstream.Parse(data, func(f *protocol.Frame) error {
		sinkErr = l.report(upstream.Received{Frame: *f})
		if isResponse(f) {
			l.answered(f)
		}
		return sinkErr
	})
	if err != nil && sinkErr == nil {
		sinkErr = l.report(upstream.NoiseOf(data, err))
	}
	return sinkErr
}

// answered records that the response to a request has arrived on the stream. If the POST of that request does not end
// within lingerFor, it is canceled.
func (l *sseLink) answered(f *protocol.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.byID[string(f.ID.Of(f.Raw))]
	if c == nil || c.answered {
		return
	}
	c.answered = true
	time.AfterFunc(lingerFor, func() { c.cancel(upstream.ErrClosed) })
}
