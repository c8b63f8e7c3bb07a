package downstream

import (
	"net/http"
	"time"
)

// Head is the status and the headers of a response, and its body unless the response is an event stream.
type Head struct {
	Status     int
	Session    string        // Mcp-Session-Id; "" if absent
	RetryAfter time.Duration // Retry-After; 0 if absent
	Stream     bool          // an event stream follows, see Read
	Body       []byte        // the whole body, unless an event stream follows
}

// Head returns the head of the response. ok is false while the response has not begun. Call Head until ok is true.
func (x *Response) Head() (h Head, ok bool) {
	switch found, _ := x.look(); found {
	case stepAnswer:
		v, session := x.take()
		h = Head{Status: v.status, Session: session, RetryAfter: v.retryAfter, Body: v.body()}
		x.end(false)
		return h, true
	case stepStream:
		return Head{Status: http.StatusOK, Session: x.openStream(), Stream: true}, true
	}
	return Head{}, false
}

// Read appends the next message of the event stream to dst, in its wire format. It appends nothing while no message
// waits. last reports the end of the stream.
func (x *Response) Read(dst []byte) (_ []byte, last bool) {
	x.mu.Lock()
	begin := !x.begun && !x.detached()
	x.mu.Unlock()
	if n := len(dst); begin {
		if dst = x.appendFirst(dst); len(dst) > n {
			return dst, false
		}
	}
	dst, last, err := x.appendWaiting(dst, 1)
	if err != nil {
		return dst, false
	}
	if last {
		x.end(false)
	}
	return dst, last
}

// Head returns the head of the response. ok is false while the response has not begun. Call Head until ok is true.
func (st *StreamResponse) Head() (h Head, ok bool) {
	st.mu.Lock()
	switch st.state {
	case streamPending, streamOver:
		st.mu.Unlock()
		return Head{}, false
	case streamRefused:
		v := st.verdict
		st.mu.Unlock()
		st.end()
		return Head{Status: v.status, RetryAfter: v.retryAfter, Body: v.body()}, true
	case streamAccepted:
		st.state = streamOpen
	}
	st.mu.Unlock()
	return Head{Status: http.StatusOK, Stream: true}, true
}

// Read appends the next message of the event stream to dst, in its wire format. It appends nothing while no message
// waits. last reports the end of the stream.
func (st *StreamResponse) Read(dst []byte) (_ []byte, last bool) {
	st.mu.Lock()
	if st.state == streamOver {
		st.mu.Unlock()
		return dst, false
	}
	if st.greeting != nil {
		dst, st.greeting = append(dst, st.greeting...), nil
		st.mu.Unlock()
		return dst, false
	}
	n := len(dst)
	dst = st.appendWaiting(dst, 1)
	last = len(dst) == n && st.state == streamClosing
	broken := st.passed != nil && st.passed.broken
	st.mu.Unlock()
	if last {
		st.end()
	}
	return dst, last && !broken
}
