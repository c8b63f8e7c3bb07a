package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"goblin-actor/protocol"
)

const (
	httpLinkBodyStart  = 64 << 10    // a longer body gets more memory only when so much has come, whatever Content-Length says;
	httpLinkBodyGrowth = 32          // this many times more; and it is counted
	httpLinkLinger     = time.Second // how long an SSE response may stay open after the answer
	httpLinkRedirects  = 3
	httpLinkErrorBody  = 1 << 10 // of a StatusError
)

var errLinkEncoded = errors.New("content-encoding nobody asked for")

// httpLinkWorker is a goroutine that makes exchanges, one after the other, with buffers that stay.
type httpLinkWorker struct {
	link *httpLink
	jobs chan *httpLinkCall // capacity 1; closed when the worker is to end

	answer httpLinkAnswer
	sse    sseReader
	frames []protocol.Frame
	taken  int // of the budget, for the body
}

func newHTTPLinkWorker(l *httpLink) *httpLinkWorker {
	return &httpLinkWorker{link: l, jobs: make(chan *httpLinkCall, 1), sse: newSSEReader(l.o.MaxMessageBytes, l.o.Budget)}
}

func (w *httpLinkWorker) run(c *httpLinkCall) {
	defer w.link.running.Done()
	<-w.link.opened
	for ok := true; ok; c, ok = <-w.jobs {
		w.exchange(c)
		if !w.link.rest(w, c) {
			return
		}
	}
}

// exchange makes one POST and tells everything that comes of it.
func (w *httpLinkWorker) exchange(c *httpLinkCall) {
	if !c.Request {
		late := time.AfterFunc(httpLinkUnanswered, func() { c.cancel(fmt.Errorf("no answer within %v", httpLinkUnanswered)) })
		defer late.Stop()
	}
	clean := false
	err := w.post(c)
	sent := err == nil
	if sent {
		clean, err = w.read(c)
	}
	w.link.o.Budget.Give(len(c.Frame) + w.taken)
	w.taken = 0
	w.sse.rope.reset()
	canceled := c.hold(nil) != nil
	if sent {
		w.link.trip.done(&w.answer, clean && !canceled)
	}
	if !c.ended {
		w.end(c, c.why(err))
	}
}

// post sends the frame and reads the head of the answer, following redirects within the origin.
func (w *httpLinkWorker) post(c *httpLinkCall) error {
	initialize := c.Method == protocol.MethodInitialize.String()
	for range httpLinkRedirects {
		head := w.link.current()
		c.session = head.session
		if initialize || head.modern() {
			c.session = ""
		}
		r := httpLinkRequest{verb: http.MethodPost, head: head, bare: initialize, body: c.Frame, method: c.Method, name: c.Name, headers: c.Headers}
		if err := w.link.trip.send(c, &r, &w.answer); err != nil {
			return err
		}
		a := &w.answer
		if a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect {
			if a.session != "" && a.status < 300 && (initialize || c.session == "" && !head.modern()) {
				w.link.begin(a.session)
			}
			return nil
		}
		path, same := head.site.redirect(a.location)
		c.hold(nil)
		w.link.trip.done(a, false)
		if !same {
			return &StatusError{Code: a.status, Body: []byte("redirect to another origin")}
		}
		w.link.moved(path)
	}
	return &StatusError{Code: w.answer.status, Body: []byte("too many redirects")}
}

// end tells that the exchange is over without an answer.
func (w *httpLinkWorker) end(c *httpLinkCall, err error) {
	c.ended = true
	if !c.written {
		_ = w.link.tell(NotSent{Ticket: c.Ticket, Err: err})
		return
	}
	_ = w.link.tell(Ended{Ticket: c.Ticket, Err: err})
}

// read takes the answer apart. clean: it was read to its end. The error is for Ended; nil when there is nothing to complain of.
func (w *httpLinkWorker) read(c *httpLinkCall) (clean bool, err error) {
	a := &w.answer
	if a.encoded {
		return false, errLinkEncoded
	}
	if a.length == 0 || a.status == http.StatusAccepted || a.status == http.StatusNoContent {
		_, err = io.CopyN(io.Discard, a.body, httpLinkErrorBody)
		return err == io.EOF, w.judge(c, nil, nil)
	}
	if a.length > 0 && !a.sse && (a.status/100 == 2 || a.length <= httpLinkBodyStart) {
		raw, memory, err := w.sized(a)
		if err != nil {
			return false, err
		}
		if httpLinkLooksSSE(raw) {
			w.sse.reset(bytes.NewReader(raw))
			_, err := w.stream(c)
			return true, err
		}
		return true, w.judge(c, raw, memory)
	}
	w.sse.reset(a.body)
	first := w.sse.lines.peek()
	if a.status/100 != 2 && !linkLooksJSON(first) && !httpLinkLooksSSE(first) {
		return false, w.judge(c, first, nil) // a page for people: its beginning will do
	}
	if linkLooksJSON(first) || !a.sse && !httpLinkLooksSSE(first) {
		w.sse.rope.add(first)
		if err := w.sse.rope.readAll(a.body); err != nil {
			return false, httpLinkCut(err)
		}
		raw, memory := w.sse.rope.take()
		return true, w.judge(c, raw, memory)
	}
	return w.stream(c)
}

// sized reads a body whose length is known. memory is what it lies in, if that may be used again.
func (w *httpLinkWorker) sized(a *httpLinkAnswer) (raw []byte, memory *protocol.Memory, err error) {
	if a.length > int64(w.sse.rope.max) {
		return nil, nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrameTooLarge, a.length, w.sse.rope.max)
	}
	length := int(a.length)
	if length < httpLinkBodyStart {
		raw = make([]byte, length)
		_, err = io.ReadFull(a.body, raw)
		return raw, nil, httpLinkCut(err)
	}
	for size := httpLinkBodyStart; len(raw) < length; size *= httpLinkBodyGrowth {
		size = min(size, length)
		if size > httpLinkBodyStart {
			if !w.link.o.Budget.Take(size - len(raw)) {
				return nil, nil, ErrOverBudget
			}
			w.taken += size - len(raw)
		}
		bigger := protocol.NewMemory(size)
		have := copy(bigger.Bytes(), raw)
		memory.Free()
		memory, raw = bigger, bigger.Bytes()
		if _, err := io.ReadFull(a.body, raw[have:]); err != nil {
			return nil, nil, httpLinkCut(err)
		}
	}
	return raw, memory, nil
}

// httpLinkCut: a body that ends too early is no normal end.
func httpLinkCut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// judge tells what a body that is no event stream says: first as JSON-RPC, at any status, and only then the status.
// memory is what it lies in, or nil.
func (w *httpLinkWorker) judge(c *httpLinkCall, body []byte, memory *protocol.Memory) error {
	status := w.answer.status
	body = bytes.Trim(body, linkBlank)
	if c.Request && len(body) > 0 {
		w.frames = w.frames[:0]
		err := linkParse(body, w.keep)
		defer clear(w.frames)
		if len(w.frames) == 1 {
			w.frames[0].Memory = memory
		}
		if err == nil && !(len(w.frames) == 1 && w.refused(c, &w.frames[0], body)) {
			return w.document(c)
		}
		if status/100 == 2 && err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
	if status/100 == 2 {
		if c.Request {
			return ErrNoAnswer
		}
		return nil
	}
	if httpLinkIsLost(c, status, body) {
		if !w.link.lose(c.session) {
			return ErrSessionLost // that session is history already
		}
		_ = w.link.tell(SessionLost{Ticket: c.Ticket})
		return ErrSessionLost
	}
	return &StatusError{Code: status, RetryAfter: httpLinkRetryAfter(w.answer.retryAfter, time.Now()),
		Body: bytes.Clone(body[:min(len(body), httpLinkErrorBody)])}
}

// refused reports whether a JSON-RPC error is the server's way to refuse the HTTP request rather than an answer:
// the status says more than it does.
func (w *httpLinkWorker) refused(c *httpLinkCall, f *protocol.Frame, body []byte) bool {
	if f.Kind != protocol.KindError {
		return false
	}
	if httpLinkHasID(f) {
		return httpLinkLostAnswer(c, w.answer.status, f)
	}
	switch w.answer.status {
	case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return httpLinkIsLost(c, w.answer.status, body)
}

func (w *httpLinkWorker) keep(f *protocol.Frame) error {
	w.frames = append(w.frames, *f)
	return nil
}

// document tells the frames of a JSON body.
func (w *httpLinkWorker) document(c *httpLinkCall) error {
	frames, last := w.frames, -1
	for i := range frames {
		if httpLinkIsResponse(&frames[i]) {
			last = i
		}
	}
	for i := range frames {
		if err := w.frame(c, &frames[i], i == last); err != nil {
			return err
		}
	}
	return ErrNoAnswer
}

// frame tells one frame; what comes after the answer belongs to no ticket any more.
func (w *httpLinkWorker) frame(c *httpLinkCall, f *protocol.Frame, last bool) error {
	e := Received{Ticket: c.Ticket, Frame: *f, Last: last && c.Request, Status: w.answer.status, Session: w.answer.session != ""}
	if c.ended {
		e.Ticket, e.Last, e.Status = 0, false, 0
	}
	c.ended = c.ended || e.Last
	return w.link.tell(e)
}

func httpLinkIsResponse(f *protocol.Frame) bool {
	return f.Kind == protocol.KindResult || f.Kind == protocol.KindError
}

func httpLinkHasID(f *protocol.Frame) bool {
	id := f.ID.Of(f.Raw)
	return len(id) > 0 && string(id) != "null"
}

// httpLinkLooksSSE reports whether a body whose Content-Type says otherwise is an event stream.
func httpLinkLooksSSE(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), linkBlank)
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(body, []byte(field)) {
			return true
		}
	}
	return false
}

// httpLinkRetryAfter reads a Retry-After header: seconds or a date. 0 = none, or past.
func httpLinkRetryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), most)
	}
	return 0
}
