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
	// bodyPrefetch is how much of a body with a Content-Length fasthttp has read before it calls the handler.
	bodyPrefetch = 8 << 10
	// bodyFirst is the first allocation for a body that is longer, or of unknown length.
	bodyFirst = 16 << 10
)

// bodyIsHere reports whether the request's body, if it has one, was read to its end with the header, so that the
// connection stands at the next request.
func bodyIsHere(ctx *fasthttp.RequestCtx) bool {
	if ctx.RequestBodyStream() == nil {
		return true
	}
	length := ctx.Request.Header.ContentLength()
	return length >= 0 && length <= bodyPrefetch
}

// body is a request body in our own memory.
type body struct {
	bytes   []byte
	counted int            // bytes taken from the budget for it
	budget  *stream.Budget // where they go back
	lease   Lease          // the request's share of what its principal may have under way: it goes back with the body at the latest; nil = none
}

func (b *body) release() {
	b.budget.Give(b.counted)
	b.counted = 0
	b.giveLease()
}

// giveLease gives the request's share back. That is done before its answer is written: whoever has the answer may ask the next.
func (b *body) giveLease() {
	if lease := b.lease; lease != nil {
		b.lease = nil
		lease.Release()
	}
}

// readBody reads the body as it comes. Memory grows with what has arrived, never with what was promised: a
// Content-Length of 64 MiB with one byte behind it costs 8 KiB. The budget is taken as it grows; on refusal all of it
// is given back. The read deadline moves on with what has come, too. More than most bytes are too many.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, c *serverConn, most int) (b body, why refused) {
	b.budget = s.options.Budget
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return b, refusedNothing
	}
	length := ctx.Request.Header.ContentLength() // -1: chunked
	if length > most {
		return b, refusedSize
	}
	first := bodyFirst
	if length >= 0 && length <= bodyPrefetch {
		first = length
	}
	if !b.grow(first) {
		return b, refusedBudget
	}
	began := time.Now()
	for length < 0 || len(b.bytes) < length {
		if len(b.bytes) == cap(b.bytes) && !b.grow(nextSize(cap(b.bytes), length, most)) {
			why = refusedBudget
			break
		}
		if length > bodyPrefetch || length < 0 {
			_ = c.SetReadDeadline(began.Add(s.limits.header + time.Duration(len(b.bytes))*time.Second/time.Duration(s.limits.bodyRate)))
		}
		n, err := stream.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		if b.bytes = b.bytes[:len(b.bytes)+n]; len(b.bytes) > most {
			why = refusedSize
			break
		}
		if err != nil {
			why = endOfBody(err, length < 0 && !c.ended || len(b.bytes) == length)
			break
		}
	}
	if why != refusedNothing {
		b.release()
		return body{}, why
	}
	return b, refusedNothing
}

// nextSize is four times the size while the length is known, for then the last step fits exactly; else twice.
// One byte over the limit shows that there was more.
func nextSize(size, length, most int) int {
	if length >= 0 {
		return min(4*size, length)
	}
	return min(2*size, most+1)
}

// grow makes room for size bytes altogether; false when the budget has none left.
func (b *body) grow(size int) bool {
	if !b.budget.Take(size - b.counted) {
		return false
	}
	b.counted = size
	b.bytes = append(make([]byte, 0, size), b.bytes...)
	return true
}

// endOfBody says what an error of the body stream means. whole: all of it has come; fasthttp says EOF as well when the
// connection ended in the middle.
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
