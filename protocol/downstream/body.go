package downstream

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/stream"
)

const (
	// bodyPrefetch is how many bytes of a body with a Content-Length fasthttp reads before it calls the handler.
	bodyPrefetch = 8 << 10
	// bodyFirst is the size of the first allocation for a longer body, or one of unknown length.
	bodyFirst = 16 << 10
)

// bodyIsRead reports whether the request's body, if any, was completely read together with the header. The connection
// is then positioned at the next request.
func bodyIsRead(ctx *fasthttp.RequestCtx) bool {
	if ctx.RequestBodyStream() == nil {
		return true
	}
	length := ctx.Request.Header.ContentLength()
	return length >= 0 && length <= bodyPrefetch
}

// body is a request body, with the budget and the lease that its request holds until it is answered.
type body struct {
	bytes   []byte
	counted int // bytes taken from the budget
	budget  *stream.Budget
	lease   Lease // the request's lease; released no later than the body. May be nil
}

func (b *body) release() {
	b.budget.Give(b.counted)
	b.counted = 0
	b.releaseLease()
}

// releaseLease releases the request's lease. Call it before the answer is written, because a client that has received the
// answer may send its next request at once.
func (b *body) releaseLease() {
	if lease := b.lease; lease != nil {
		b.lease = nil
		lease.Release()
	}
}

// readBody reads a request's body of at most limit bytes. The read deadline is extended as bytes arrive.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, c *serverConn, limit int) (b body, why refused) {
	b.budget = s.options.Budget
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return b, refusedNothing
	}
	c.reading = connBody{Reader: stream, conn: c, length: ctx.Request.Header.ContentLength(), began: time.Now()}
	why = b.read(&c.reading, c.reading.length, limit)
	c.reading = connBody{}
	return b, why
}

// connBody is the body of a request to a Server. Each serverConn has one, so that reading a body does not allocate it.
type connBody struct {
	io.Reader
	conn   *serverConn
	length int // -1: chunked
	began  time.Time
}

// extend implements bodySource. A short body of known length arrives with the header, whose deadline then suffices.
func (b *connBody) extend(received int) {
	if b.length > bodyPrefetch || b.length < 0 {
		_ = b.conn.SetReadDeadline(b.conn.server.limits.bodyDeadline(b.began, received))
	}
}

// whole implements bodySource.
func (b *connBody) whole(received int) bool {
	return b.length < 0 && !b.conn.ended || received == b.length
}

// bodyDeadline returns the time by which more bytes of a body must arrive, if received bytes have arrived since began.
func (l *limits) bodyDeadline(began time.Time, received int) time.Time {
	return began.Add(l.header + time.Duration(received)*time.Second/time.Duration(l.bodyRate))
}

// bodySource is a request body that is read from a connection.
type bodySource interface {
	io.Reader
	extend(received int)     // extends the read deadline
	whole(received int) bool // reports, after io.EOF from Read, whether the body is complete
}

// read reads a whole body of at most limit bytes. length is the announced length, or -1 if it is unknown. Memory and
// budget grow with the bytes received, not with the announced length: a Content-Length of 64 MiB followed by one byte
// costs 16 KiB. If read refuses the body, it returns the bytes to the budget.
func (b *body) read(r bodySource, length, limit int) (why refused) {
	if length > limit {
		return refusedSize
	}
	first := bodyFirst
	if length >= 0 && length <= bodyPrefetch {
		first = length
	}
	if !b.grow(first) {
		return refusedBudget
	}
	for length < 0 || len(b.bytes) < length {
		if len(b.bytes) == cap(b.bytes) && !b.grow(nextSize(cap(b.bytes), length, limit)) {
			why = refusedBudget
			break
		}
		r.extend(len(b.bytes))
		n, err := r.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		if b.bytes = b.bytes[:len(b.bytes)+n]; len(b.bytes) > limit {
			why = refusedSize
			break
		}
		if err != nil {
			why = endOfBody(err, r.whole(len(b.bytes)))
			break
		}
	}
	if why != refusedNothing {
		b.release()
		*b = body{}
	}
	return why
}

// nextSize returns the next capacity of a body. If the length is known, it quadruples the size, up to the length.
// Otherwise it doubles the size, up to one byte over the limit, which detects a body that is too long.
func nextSize(size, length, limit int) int {
	if length >= 0 {
		return min(4*size, length)
	}
	return min(2*size, limit+1)
}

// grow raises the capacity to size bytes. It returns false if the budget is exhausted.
func (b *body) grow(size int) bool {
	if !b.budget.Take(size - b.counted) {
		return false
	}
	b.counted = size
	b.bytes = append(make([]byte, 0, size), b.bytes...)
	return true
}

// endOfBody returns the refusal for a read error. fasthttp also reports io.EOF for a connection that ended in the middle
// of a body; whole must be true if the body is complete.
func endOfBody(err error, whole bool) refused {
	if whole && errors.Is(err, io.EOF) {
		return refusedNothing
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return refusedTimeout
	}
	return refusedMalformed
}
