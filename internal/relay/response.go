package relay

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	headBytes  = 4 << 10   // largest header of a response
	pieceBytes = 256 << 10 // a large body is read in pieces of this size
	maxInterim = 8         // interim responses (1xx) that are skipped
	maxStatus  = 599
	maxRetry   = 24 * time.Hour
	typeEvents = "text/event-stream"
)

var (
	errResponse = errors.New("the response is malformed")
	errTooLarge = errors.New("the response is too large")
	errNoRoom   = errors.New("the response does not fit in limits.maxBufferedBytes")
)

// readers read the header of a response. An idle stream has none.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBytes) }}

// response is the response of another node. The caller must call release. As an io.Reader it is the body of a stream, with
// io.EOF only if the stream is complete.
type response struct {
	status     int
	session    string // Mcp-Session-Id; "" = none
	retryAfter time.Duration
	events     bool  // the body consists of events
	length     int64 // of the body; -1 = in chunks, -2 = until the connection ends
	keep       bool  // the connection can be used again, once the body was read

	conn   *conn
	from   io.Reader     // conn
	reader *bufio.Reader // nil = returned to the pool
	chunks io.Reader     // nil = the body has no chunks
}

// readResponse reads the header of a response.
func readResponse(c *conn) (*response, error) { return readResponseFrom(c, c) }

// readResponseFrom is readResponse with another source of bytes, for tests.
func readResponseFrom(c *conn, from io.Reader) (*response, error) {
	r := &response{conn: c, from: from, reader: readers.Get().(*bufio.Reader)}
	r.reader.Reset(from)
	for range maxInterim {
		found, err := r.readHead()
		if err != nil {
			r.release()
			return nil, err
		}
		if found {
			return r, nil
		}
	}
	r.release()
	return nil, errResponse
}

// readHead reads one header. It returns false if that was an interim one.
func (r *response) readHead() (found bool, err error) {
	if _, err := r.reader.Peek(1); err != nil {
		return false, err
	}
	var h fasthttp.ResponseHeader
	if err := h.Read(r.reader); err != nil {
		if network, ok := errors.AsType[net.Error](err); ok {
			return false, network
		}
		return false, errResponse // the parser's error would quote the response
	}
	r.status = h.StatusCode()
	switch {
	case r.status < 100, r.status > maxStatus, r.status == http.StatusSwitchingProtocols:
		return false, errResponse
	case r.status < 200:
		return false, nil
	}
	r.session, r.events = string(h.Peek("Mcp-Session-Id")), string(h.ContentType()) == typeEvents
	if seconds, err := strconv.ParseUint(string(h.Peek("Retry-After")), 10, 31); err == nil {
		r.retryAfter = min(time.Duration(seconds)*time.Second, maxRetry)
	}
	r.length, r.keep = max(int64(h.ContentLength()), -2), !h.ConnectionClose()
	switch {
	case r.status == http.StatusNoContent, r.status == http.StatusNotModified:
		r.length = 0
	case r.length == -1:
		r.chunks = httputil.NewChunkedReader(r.reader)
	case r.length == -2:
		r.keep = false
	}
	return true, nil
}

// release returns the reader to its pool.
func (r *response) release() {
	if r.reader != nil {
		r.reader.Reset(nil)
		readers.Put(r.reader)
		r.reader, r.chunks = nil, nil
	}
}

// isStream reports whether the body is an event stream.
func (r *response) isStream() bool { return r.events && r.length < 0 && r.status == http.StatusOK }

// isDrained reports whether the reader holds no more bytes of the body, and returns the reader to the pool in that case. TLS may
// still hold some bytes. It is false for a body in chunks.
func (r *response) isDrained() bool {
	if r.chunks == nil && r.reader != nil && r.reader.Buffered() == 0 {
		r.release()
	}
	return r.reader == nil
}

// Read reads the body of a stream.
func (r *response) Read(p []byte) (n int, err error) {
	if r.chunks != nil {
		if n, err = r.chunks.Read(p); err == io.EOF {
			r.endChunks()
		}
		return n, err
	}
	if !r.isDrained() {
		return r.reader.Read(p)
	}
	if n, err = r.from.Read(p); err == io.EOF && !r.conn.endedCleanly() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// endChunks reads the empty trailer after the last chunk. Without it, the connection cannot be used again.
func (r *response) endChunks() {
	line, err := r.reader.ReadSlice('\n')
	r.keep = r.keep && err == nil && string(line) == "\r\n"
}

// readWhole reads a body that is not a stream, in pieces. The function take takes bytes from a budget, or returns false.
func (r *response) readWhole(limit int64, take func(n int) bool) (pieces [][]byte, err error) {
	switch {
	case r.length < 0:
		return nil, errResponse
	case r.length > limit:
		return nil, errTooLarge
	}
	for left := r.length; left > 0; {
		size := int(min(left, pieceBytes))
		if !take(size) {
			return nil, errNoRoom
		}
		piece := make([]byte, size)
		if _, err := io.ReadFull(r.reader, piece); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		pieces, left = append(pieces, piece), left-int64(size)
	}
	return pieces, nil
}
