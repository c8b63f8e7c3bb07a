package remote

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// ssePost holds the buffers of a POST, for reuse.
type ssePost struct {
	answer httpAnswer
	first  [errorBodyBytes]byte // start of the response body
	rope   stream.Rope
}

// post performs a POST and reports its events.
func (l *sseLink) post(c *sseCall) {
	p, _ := l.posts.Get().(*ssePost)
	if p == nil {
		p = &ssePost{rope: stream.Rope{Max: l.o.MaxMessageBytes, Budget: l.o.Budget}}
	}
	l.expect(c)
	if !c.Request {
		late := time.AfterFunc(unansweredFor, func() { c.cancel(fmt.Errorf("no answer within %v", unansweredFor)) })
		defer late.Stop()
	}
	err := l.send(c, p)
	if err == nil {
		var clean bool
		clean, err = l.processResponse(c, p)
		canceled := c.setStop(nil) != nil
		l.transport.done(&p.answer, clean && !canceled)
	}
	p.rope.Reset()
	l.posts.Put(p)
	answered := l.forget(c)
	l.o.Budget.Give(len(c.Frame))
	switch {
	case c.ended || answered && c.written:
	case !c.written:
		_ = l.report(upstream.NotSent{Ticket: c.Ticket, Err: c.why(err)})
	case err != nil:
		_ = l.report(upstream.Ended{Ticket: c.Ticket, Err: c.why(err)})
	}
}

// expect registers a request by its id, so that its answer on the stream is recognized.
func (l *sseLink) expect(c *sseCall) {
	var f protocol.Frame
	if !c.Request || f.Parse(c.Frame) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.id = string(f.ID.Of(f.Raw))
	l.byID[c.id] = c
}

// forget removes a call and reports whether its answer has arrived. It schedules the sweep of idle connections.
func (l *sseLink) forget(c *sseCall) (answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sweep == nil && !l.closing {
		l.sweep = time.AfterFunc(sweepEvery, l.sweepIdle)
	}
	delete(l.calls, c.Ticket)
	if l.byID[c.id] == c {
		delete(l.byID, c.id)
	}
	return c.answered
}

// send sends the frame, reads the header of the response, and follows redirects within the origin.
func (l *sseLink) send(c *sseCall, p *ssePost) error {
	a := &p.answer
	for range maxRedirects {
		head := l.current()
		r := httpRequest{verb: http.MethodPost, head: head, body: c.Frame}
		if err := l.transport.send(&c.exchange, &r, a); err != nil {
			return err
		}
		if a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect {
			return nil
		}
		path, same := head.site.redirect(a.location)
		elsewhere := head.site.refusal(a, nil)
		_ = c.setStop(nil)
		l.transport.done(a, false)
		if !same {
			return elsewhere
		}
		l.setPath(path)
	}
	return &upstream.StatusError{Code: a.status, Body: []byte("too many redirects")}
}

// processResponse processes the response to a POST. The error is nil for a success status, because the server has
// received the frame. clean means that the response was read to its end.
func (l *sseLink) processResponse(c *sseCall, p *ssePost) (clean bool, err error) {
	a := &p.answer
	accepted := a.status/100 == 2
	if accepted && !c.Request {
		c.ended = true
		_ = l.report(upstream.Ended{Ticket: c.Ticket})
	}
	body, clean := p.body(accepted)
	if clean && upstream.LooksJSON(body) {
		_ = upstream.Parse(body, func(f *protocol.Frame) error { return l.frame(c, f, a.status) })
	}
	if accepted || c.ended {
		return clean, nil
	}
	return clean, l.current().site.refusal(a, body)
}

// body reads a body that may be JSON-RPC to its end, and only the start of others, such as "Accepted" or an HTML page.
func (p *ssePost) body(accepted bool) (body []byte, clean bool) {
	a := &p.answer
	n, err := io.ReadAtLeast(a.body, p.first[:], 1)
	body = p.first[:n]
	switch {
	case upstream.LooksJSON(body):
		p.rope.Add(body)
		if p.rope.ReadAll(a.body) != nil {
			return body, false
		}
		return p.rope.Bytes(), true
	case accepted && err == nil:
		_, err = io.CopyN(io.Discard, a.body, errorBodyBytes)
	}
	return body, err == io.EOF
}

// frame reports a message in the response to a POST. The message ends the request if the POST was accepted and the
// message is an error without an id, or if the POST was refused and the message is a response with an id. An error
// without an id in the response to a refused POST adds nothing to the status and is dropped.
func (l *sseLink) frame(c *sseCall, f *protocol.Frame, status int) error {
	accepted := status/100 == 2
	e := upstream.Received{Frame: *f}
	if isResponse(f) && hasID(f) != accepted {
		if !c.Request || c.ended {
			return nil
		}
		c.ended = true
		e.Ticket, e.Last, e.Status = c.Ticket, true, status
	} else if isResponse(f) && !accepted {
		return nil
	}
	return l.report(e)
}

// sweepIdle closes connections that have been idle for too long.
func (l *sseLink) sweepIdle() {
	busy := l.transport.sweep()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closing:
	case busy:
		l.sweep.Reset(sweepEvery)
	default:
		l.sweep = nil
	}
}
