package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"goblin-actor/protocol"
)

// sseLinkPost is what a POST needs, kept for the next one.
type sseLinkPost struct {
	answer httpLinkAnswer
	first  [httpLinkErrorBody]byte // of the answer's body
	rope   linkRope
}

// post makes one POST and tells what comes of it.
func (l *sseLink) post(c *sseLinkCall) {
	p, _ := l.posts.Get().(*sseLinkPost)
	if p == nil {
		p = &sseLinkPost{rope: linkRope{max: l.o.MaxMessageBytes, budget: l.o.Budget}}
	}
	l.expect(c)
	if !c.Request {
		late := time.AfterFunc(httpLinkUnanswered, func() { c.cancel(fmt.Errorf("no answer within %v", httpLinkUnanswered)) })
		defer late.Stop()
	}
	err := l.send(c, p)
	if err == nil {
		var clean bool
		clean, err = l.judge(c, p)
		canceled := c.hold(nil) != nil
		l.trip.done(&p.answer, clean && !canceled)
	}
	p.rope.reset()
	l.posts.Put(p)
	answered := l.forget(c)
	l.o.Budget.Give(len(c.Frame))
	switch {
	case c.ended || answered && c.written:
	case !c.written:
		_ = l.tell(NotSent{Ticket: c.Ticket, Err: c.why(err)})
	case err != nil:
		_ = l.tell(Ended{Ticket: c.Ticket, Err: c.why(err)})
	}
}

// expect enters a request under its id, so that its answer on the stream is noticed.
func (l *sseLink) expect(c *sseLinkCall) {
	var f protocol.Frame
	if !c.Request || f.Parse(c.Frame) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.id = string(f.ID.Of(f.Raw))
	l.byID[c.id] = c
}

// forget removes a call and reports whether its answer came. The connection it has left is looked at from time to time.
func (l *sseLink) forget(c *sseLinkCall) (answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sweep == nil && !l.closing {
		l.sweep = time.AfterFunc(httpLinkSweep, l.sweepIdle)
	}
	delete(l.calls, c.Ticket)
	if l.byID[c.id] == c {
		delete(l.byID, c.id)
	}
	return c.answered
}

// send sends the frame and reads the head of the answer, following redirects within the origin.
func (l *sseLink) send(c *sseLinkCall, p *sseLinkPost) error {
	a := &p.answer
	for range httpLinkRedirects {
		head := l.current()
		r := httpLinkRequest{verb: http.MethodPost, head: head, body: c.Frame}
		if err := l.trip.send(&c.httpLinkCall, &r, a); err != nil {
			return err
		}
		if a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect {
			return nil
		}
		path, same := head.site.redirect(a.location)
		_ = c.hold(nil)
		l.trip.done(a, false)
		if !same {
			return &StatusError{Code: a.status, Body: []byte("redirect to another origin")}
		}
		l.moved(path)
	}
	return &StatusError{Code: a.status, Body: []byte("too many redirects")}
}

// judge takes the answer to a POST apart. After a status of success the error is nil: the server has the frame, whatever
// else the answer says. clean: it was read to its end.
func (l *sseLink) judge(c *sseLinkCall, p *sseLinkPost) (clean bool, err error) {
	a := &p.answer
	accepted := a.status/100 == 2
	if accepted && !c.Request {
		c.ended = true
		_ = l.tell(Ended{Ticket: c.Ticket})
	}
	body, clean := p.body(accepted)
	if clean && linkLooksJSON(body) {
		_ = linkParse(body, func(f *protocol.Frame) error { return l.frame(c, f, a.status) })
	}
	if accepted || c.ended {
		return clean, nil
	}
	return clean, &StatusError{Code: a.status, RetryAfter: httpLinkRetryAfter(a.retryAfter, time.Now()),
		Body: bytes.Clone(body[:min(len(body), httpLinkErrorBody)])}
}

// body reads what may be JSON-RPC to its end, and of anything else the beginning: "Accepted" or a page for people.
func (p *sseLinkPost) body(accepted bool) (body []byte, clean bool) {
	a := &p.answer
	n, err := io.ReadAtLeast(a.body, p.first[:], 1)
	body = p.first[:n]
	switch {
	case a.encoded:
		return nil, false
	case linkLooksJSON(body):
		p.rope.add(body)
		if p.rope.readAll(a.body) != nil {
			return body, false
		}
		return p.rope.bytes(), true
	case accepted && err == nil:
		_, err = io.CopyN(io.Discard, a.body, httpLinkErrorBody)
	}
	return body, err == io.EOF
}

// frame tells a message in the answer to a POST. It ends a request where it is its error without an id, or where the
// status says that nothing will come on the stream; an error that is both says no more than the status.
func (l *sseLink) frame(c *sseLinkCall, f *protocol.Frame, status int) error {
	accepted := status/100 == 2
	e := Received{Frame: *f}
	if httpLinkIsResponse(f) && httpLinkHasID(f) != accepted {
		if !c.Request || c.ended {
			return nil
		}
		c.ended = true
		e.Ticket, e.Last, e.Status = c.Ticket, true, status
	} else if httpLinkIsResponse(f) && !accepted {
		return nil
	}
	return l.tell(e)
}

// sweepIdle closes connections that nobody has needed for long.
func (l *sseLink) sweepIdle() {
	busy := l.trip.sweep()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closing:
	case busy:
		l.sweep.Reset(httpLinkSweep)
	default:
		l.sweep = nil
	}
}
