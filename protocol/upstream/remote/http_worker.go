package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	bodyStart      = 64 << 10    // maximum initial memory for a body, whatever Content-Length says
	bodyGrowth     = 32          // factor by which it grows once it is full; growth is counted in the budget
	lingerFor      = time.Second // how long an event stream may stay open after the response
	maxRedirects   = 3
	errorBodyBytes = 1 << 10 // maximum size of StatusError.Body
)

// worker runs exchanges one after the other and reuses its buffers. It runs on its own goroutine, or inline.
type worker struct {
	link *httpLink
	jobs chan *exchange // capacity 1; closed to end the worker

	inline  *exchange // the exchange that Do runs
	next    step      // next step of an exchange that was started inline
	request httpRequest
	answer  httpAnswer
	sse     stream.EventReader
	frames  []protocol.Frame
	taken   int // bytes of the budget for the body
}

func newWorker(l *httpLink) *worker {
	return &worker{link: l, jobs: make(chan *exchange, 1), sse: stream.NewEventReader(l.o.MaxMessageBytes, l.o.Budget)}
}

func (w *worker) run(c *exchange) {
	defer w.link.running.Done()
	<-w.link.opened
	for ok := true; ok; c, ok = <-w.jobs {
		w.exchange(c)
		if !w.link.keepIdle(w, c) {
			return
		}
	}
}

// exchange starts or continues a POST and reports its events. It returns false if an inline exchange would have to
// wait longer.
func (w *worker) exchange(c *exchange) (done bool) {
	if !c.Request {
		late := time.AfterFunc(unansweredFor, func() { c.cancel(fmt.Errorf("no answer within %v", unansweredFor)) })
		defer late.Stop()
	}
	if c.after != nil {
		c.await()
	}
	clean := false
	err := w.post(c)
	if c.inline && w.mustWait(err) {
		return false
	}
	if c.Method == setLevel {
		defer w.link.levelSet(c)
	}
	sent := err == nil
	if sent {
		clean, err = w.read(c)
	}
	w.link.o.Budget.Give(len(c.Frame) + w.taken)
	w.taken = 0
	w.sse.Rope.Reset()
	w.request = httpRequest{}
	canceled := c.setStop(nil) != nil
	if sent {
		w.link.transport.done(&w.answer, clean && !canceled)
	}
	if !c.ended {
		w.end(c, c.why(err))
	}
	return true
}

// post sends the frame, reads the header of the response, and follows redirects within the origin.
func (w *worker) post(c *exchange) error {
	next := w.next
	if w.next = stepSend; next == stepBody {
		return nil
	}
	initialize := c.Method == protocol.MethodInitialize.String()
	for range maxRedirects {
		if err := w.roundTrip(c, next, initialize); err != nil {
			return err
		}
		next = stepSend
		head, a := w.request.head, &w.answer
		if a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect {
			if a.session != "" && a.status < 300 && (initialize || c.session == "" && !head.modern()) {
				w.link.setSession(a.session)
			}
			return nil
		}
		path, same := head.site.redirect(a.location)
		elsewhere := head.site.refusal(a, nil)
		_ = c.setStop(nil) // a cancellation is noticed at the next attempt
		w.link.transport.done(a, false)
		if !same {
			return elsewhere
		}
		w.link.setPath(path)
	}
	return &upstream.StatusError{Code: w.answer.status, Body: []byte("too many redirects")}
}

// roundTrip sends the request, unless it was already sent, and reads the header of the response.
func (w *worker) roundTrip(c *exchange, next step, initialize bool) error {
	if next == stepHead {
		return w.link.transport.receive(c, &w.request, &w.answer)
	}
	head := w.link.current()
	c.session = head.session
	if initialize || head.modern() {
		c.session = ""
	}
	w.request = httpRequest{verb: http.MethodPost, head: head, bare: initialize, body: c.Frame, method: c.Method, name: c.Name, headers: c.Headers}
	return w.link.transport.send(c, &w.request, &w.answer)
}

// end reports that the exchange ended without a response message.
func (w *worker) end(c *exchange, err error) {
	c.ended = true
	if !c.written {
		_ = w.link.report(upstream.NotSent{Ticket: c.Ticket, Err: err})
		return
	}
	_ = w.link.report(upstream.Ended{Ticket: c.Ticket, Err: err})
}

// read processes the response. clean means that the response was read to its end. The error is reported in Ended.
func (w *worker) read(c *exchange) (clean bool, err error) {
	a := &w.answer
	if a.unreadable != nil && a.status/100 == 2 {
		return false, a.unreadable
	}
	if a.length == 0 || a.status == http.StatusAccepted || a.status == http.StatusNoContent {
		_, err = io.CopyN(io.Discard, a.body, errorBodyBytes)
		return err == io.EOF, w.processBody(c, nil, nil)
	}
	if a.length > 0 && !a.sse && (a.status/100 == 2 || a.length <= bodyStart) {
		raw, memory, err := w.sized(a)
		if err != nil {
			return false, err
		}
		if looksSSE(raw) {
			w.sse.Reset(bytes.NewReader(raw))
			_, err := w.stream(c)
			return true, err
		}
		return true, w.processBody(c, raw, memory)
	}
	w.sse.Reset(a.body)
	first := w.sse.Lines.Peek()
	if a.status/100 != 2 && !upstream.LooksJSON(first) && !looksSSE(first) {
		return false, w.processBody(c, first, nil) // an HTML page or a text; its start suffices
	}
	if upstream.LooksJSON(first) || !a.sse && !looksSSE(first) {
		w.sse.Rope.Add(first)
		if err := w.sse.Rope.ReadAll(a.body); err != nil {
			return false, unexpectedEOF(err)
		}
		raw, memory := w.sse.Rope.Take()
		return true, w.processBody(c, raw, memory)
	}
	return w.stream(c)
}

// sized reads a body of known length. memory is the reusable memory that contains it, or nil.
func (w *worker) sized(a *httpAnswer) (raw []byte, memory *protocol.Memory, err error) {
	if a.length > int64(w.sse.Rope.Max) {
		return nil, nil, fmt.Errorf("%w: %d bytes, the limit is %d", stream.ErrFrameTooLarge, a.length, w.sse.Rope.Max)
	}
	length := int(a.length)
	if length < bodyStart {
		raw = make([]byte, length)
		_, err = io.ReadFull(a.body, raw)
		return raw, nil, unexpectedEOF(err)
	}
	for size := bodyStart; len(raw) < length; size *= bodyGrowth {
		size = min(size, length)
		if size > bodyStart {
			if !w.link.o.Budget.Take(size - len(raw)) {
				return nil, nil, stream.ErrOverBudget
			}
			w.taken += size - len(raw)
		}
		bigger := protocol.NewMemory(size)
		have := copy(bigger.Bytes(), raw)
		memory.Free()
		memory, raw = bigger, bigger.Bytes()
		if _, err := io.ReadFull(a.body, raw[have:]); err != nil {
			return nil, nil, unexpectedEOF(err)
		}
	}
	return raw, memory, nil
}

// unexpectedEOF replaces io.EOF with io.ErrUnexpectedEOF, for data that ends too early.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// processBody processes a body that is not an event stream. A JSON-RPC message takes precedence over the status,
// unless it refuses the HTTP request. memory is the memory that contains the body, or nil.
func (w *worker) processBody(c *exchange, body []byte, memory *protocol.Memory) error {
	status := w.answer.status
	body = protocol.Trim(body)
	if c.Request && len(body) > 0 {
		w.frames = w.frames[:0]
		err := upstream.Parse(body, w.collect)
		defer clear(w.frames)
		if len(w.frames) == 1 {
			w.frames[0].Memory = memory
		}
		if err == nil && !(len(w.frames) == 1 && w.refused(c, &w.frames[0], body)) {
			return w.document(c)
		}
		if status/100 == 2 && err != nil {
			return notMessage(body, err)
		}
	}
	if status/100 == 2 {
		if c.Request {
			return upstream.ErrNoAnswer
		}
		return nil
	}
	if isLost(c, status, body) {
		if !w.link.dropSession(c.session) {
			return upstream.ErrSessionLost // the link has another session already
		}
		_ = w.link.report(upstream.SessionLost{Ticket: c.Ticket})
		return upstream.ErrSessionLost
	}
	return w.request.head.site.refusal(&w.answer, body)
}

// refused reports whether a JSON-RPC error refuses the HTTP request instead of answering the JSON-RPC request. The
// status is then more specific than the error.
func (w *worker) refused(c *exchange, f *protocol.Frame, body []byte) bool {
	if f.Kind != protocol.KindError {
		return false
	}
	if hasID(f) {
		return lostAnswer(c, w.answer.status, f)
	}
	switch w.answer.status {
	case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return isLost(c, w.answer.status, body)
}

func (w *worker) collect(f *protocol.Frame) error {
	w.frames = append(w.frames, *f)
	return nil
}

// document reports the frames of a JSON body.
func (w *worker) document(c *exchange) error {
	frames, last := w.frames, -1
	for i := range frames {
		if isResponse(&frames[i]) {
			last = i
		}
	}
	for i := range frames {
		if err := w.frame(c, &frames[i], i == last); err != nil {
			return err
		}
	}
	return upstream.ErrNoAnswer
}

// frame reports a frame. Frames after the answer have no ticket.
func (w *worker) frame(c *exchange, f *protocol.Frame, last bool) error {
	e := upstream.Received{Ticket: c.Ticket, Frame: *f, Last: last && c.Request, Status: w.answer.status, Session: w.answer.session != ""}
	if c.ended {
		e.Ticket, e.Last, e.Status = 0, false, 0
	}
	c.ended = c.ended || e.Last
	return w.link.report(e)
}

func isResponse(f *protocol.Frame) bool {
	return f.Kind == protocol.KindResult || f.Kind == protocol.KindError
}

func hasID(f *protocol.Frame) bool {
	id := f.ID.Of(f.Raw)
	return len(id) > 0 && string(id) != "null"
}

// looksSSE reports whether a body looks like an event stream, whatever its Content-Type.
func looksSSE(body []byte) bool {
	body = protocol.Trim(body)
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(body, []byte(field)) {
			return true
		}
	}
	return false
}

// retryAfter parses a Retry-After header, which contains seconds or a date. It returns at most 24 h. It returns 0 if
// value is empty, invalid, or a past date.
func retryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), most)
	}
	return 0
}
