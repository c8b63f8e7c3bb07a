package downstream

import (
	"errors"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// openStream turns the answer into SSE. The connection's goroutine goes on writing it from fasthttp's call of WriteTo;
// the stream ends with the answer, and the connection can take the next request.
func (x *httpExchange) openStream(ctx *fasthttp.RequestCtx) {
	x.mu.Lock()
	session := x.session
	if x.opened = true; x.replay != nil && x.state != exchangeOver {
		x.track = x.replay.open(true, x, nil)
	}
	x.mu.Unlock()
	h := &ctx.Response.Header
	h.SetContentType(typeEvents)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	ctx.Response.SetBodyStream(answerStream{x}, -1)
}

// answerStream is an exchange as the body of its HTTP answer.
type answerStream struct{ x *httpExchange }

// SupportsBodyWriteTo has fasthttp call WriteTo: one chunk and one flush for each Write in it.
func (answerStream) SupportsBodyWriteTo() bool { return true }

// Read exists for fasthttp's types; WriteTo is what it calls.
func (answerStream) Read([]byte) (int, error) {
	return 0, errors.New("an event stream is written, not read")
}

// WriteTo writes a comment at once and then events as they come, until the answer has been written or the client left.
func (e answerStream) WriteTo(w io.Writer) (total int64, err error) {
	x, scratch := e.x, streamScratch.Get().(*[]byte)
	defer freeScratch(scratch)
	*scratch = e.first((*scratch)[:0])
	for {
		var last bool
		if *scratch, last, err = x.appendWaiting(*scratch); err != nil {
			return total, err
		}
		if len(*scratch) > 0 {
			n, err := w.Write(*scratch)
			if total += int64(n); err != nil {
				return total, err
			}
		}
		if last {
			return total, nil
		}
		if *scratch = (*scratch)[:0]; x.idle() {
			*scratch = append(*scratch, streamComment...)
		}
	}
}

// first is what the stream begins with: something at once, for proxies and clients that wait for it.
func (e answerStream) first(dst []byte) []byte {
	e.x.mu.Lock()
	defer e.x.mu.Unlock()
	if e.x.track == nil {
		return append(dst, streamComment...)
	}
	e.x.primed = true
	return e.x.track.appendPrime(dst, 0)
}

// appendWaiting adds what waits; last: the stream ends with it. The error says that nobody reads any more.
func (x *httpExchange) appendWaiting(dst []byte) (_ []byte, last bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == exchangeOver || x.state == exchangeAway || x.conn.killed.Load() {
		return dst, true, net.ErrClosed
	}
	if x.track == nil {
		if dst = appendEvents(dst, &x.queue); x.state != exchangeDecided || !x.queue.empty() {
			return dst, false, nil
		}
		x.body.giveLease()
		return appendParts(dst, x.verdict.parts()), true, nil
	}
	if !x.primed {
		x.primed = true
		dst = x.track.appendPrime(dst, 0)
	}
	if dst = x.track.appendEvents(dst, &x.queue); x.state != exchangeDecided || !x.queue.empty() {
		return dst, false, nil
	}
	x.told = true
	x.body.giveLease()
	return x.track.appendLast(dst, x.verdict.parts()), true, nil
}

// idle waits for something to write; true when nothing came for a keep-alive period.
func (x *httpExchange) idle() bool {
	for {
		found, wanted := x.look()
		if wanted {
			x.conn.watch(x.leave)
		}
		if found != stepWait {
			return false
		}
		select {
		case <-x.conn.wake:
		case <-x.conn.alarm(x.server.keepAlive):
			return true
		}
	}
}

// Close is called by fasthttp when the stream was written, or could not be; the connection's end tells which.
func (e answerStream) Close() error {
	e.x.conn.unwatch()
	return nil
}
