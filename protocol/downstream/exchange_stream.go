package downstream

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// writeStream turns the response into an event stream, which fasthttp writes by calling WriteTo. The stream ends with the
// answer. The connection can then take the next request.
func (x *httpExchange) writeStream(ctx *fasthttp.RequestCtx) {
	session := x.openStream()
	h := &ctx.Response.Header
	h.SetContentType(typeEvents)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	ctx.Response.SetBodyStream(answerStream{x}, -1)
}

// answerStream is the event stream of an exchange, as a body for fasthttp.
type answerStream struct{ x *httpExchange }

// SupportsBodyWriteTo makes fasthttp call WriteTo, and send a chunk for each Write in it.
func (answerStream) SupportsBodyWriteTo() bool { return true }

// Read satisfies fasthttp's interface. It is never called.
func (answerStream) Read([]byte) (int, error) {
	return 0, errors.New("event stream cannot be read")
}

// WriteTo writes the first bytes at once and then events as they arrive, until the answer is written or the client leaves.
func (e answerStream) WriteTo(w io.Writer) (total int64, err error) {
	x, scratch := e.x, streamScratch.Get().(*[]byte)
	defer freeScratch(scratch)
	*scratch = x.appendFirst((*scratch)[:0])
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

// appendWaiting calls Response.appendWaiting. If the connection is being killed, the client counts as having left.
func (x *httpExchange) appendWaiting(dst []byte) (_ []byte, last bool, err error) {
	if x.conn.killed.Load() {
		return dst, true, net.ErrClosed
	}
	return x.Response.appendWaiting(dst, streamBatch)
}

// idle waits for something to write. It returns true if nothing is ready within KeepAlive. The stream of another node is kept
// alive by that node.
func (x *httpExchange) idle() bool {
	for {
		found, wanted := x.look()
		if wanted {
			x.conn.watch(x.leave)
		}
		var due <-chan time.Time
		switch found {
		case stepWait:
			due = x.conn.alarm(x.server.keepAlive)
		case stepPassed:
		default:
			return false
		}
		select {
		case <-x.conn.wake:
		case <-due:
			return true
		}
	}
}

// Close is called by fasthttp once the stream was written or a write failed. If a write failed, the connection ends.
func (e answerStream) Close() error {
	e.x.conn.unwatch()
	return nil
}
