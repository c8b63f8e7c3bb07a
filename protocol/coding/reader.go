package coding

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	inputBytes   = 4 << 10 // read buffer for encoded bytes
	maxExpansion = 256     // decoded bytes per encoded byte that are allowed beyond the maximum message size; the formats allow 1032
)

var (
	// ErrInvalid means that the body is invalid for its coding.
	ErrInvalid = errors.New("the response cannot be decoded")
	// ErrExpands means that the decoded body far exceeds the maximum message size.
	ErrExpands = errors.New("the response decodes to too many bytes")
)

// Reader decodes a response body. It must be used by one goroutine.
//
// Read returns io.EOF at the end of the body, and io.ErrUnexpectedEOF if the body is truncated, for example by a lost
// connection. It returns errors of the body unchanged. All other errors wrap ErrInvalid or ErrExpands. After an error, Read
// returns the same error again.
type Reader struct {
	coding  Coding
	input   *bufio.Reader
	encoded counter // bytes read from body
	limit   int64
	decoded int64
	err     error
	begun   bool // decoder is set up for the current gzip member or for the deflate body

	decoder io.Reader // gz, zl or fl; each is reused for later responses
	gz      *gzip.Reader
	zl      io.ReadCloser
	fl      io.ReadCloser
}

// counter counts the bytes read and records the error of the source.
type counter struct {
	src io.Reader
	n   int64
	err error // other than io.EOF
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// readers pools Readers, since a decoder's tables and window use 45 KiB.
var readers = sync.Pool{New: func() any {
	r := &Reader{}
	r.input = bufio.NewReaderSize(&r.encoded, inputBytes)
	return r
}}

// NewReader returns a reader of body with the coding c, which must be Gzip or Deflate. limit is the maximum message
// size in bytes. Read fails for a larger body only if it expands too much; otherwise the caller enforces the limit.
// NewReader does not read. Call Close after the last Read.
func NewReader(c Coding, body io.Reader, limit int) *Reader {
	r := readers.Get().(*Reader)
	r.coding, r.limit = c, int64(limit)
	r.encoded = counter{src: body}
	r.input.Reset(&r.encoded)
	return r
}

// Close releases the reader's memory for reuse. It does not close the body. The reader must not be used afterwards.
func (r *Reader) Close() {
	r.encoded, r.decoded, r.err, r.begun, r.decoder = counter{}, 0, nil, false, nil
	r.input.Reset(nil)
	readers.Put(r)
}

// Read implements io.Reader. It blocks only if no bytes can be decoded.
func (r *Reader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, r.err
	}
	for n == 0 && r.err == nil {
		n, err = r.step(p)
		r.decoded += int64(n)
		r.err = r.explain(err)
		if r.err == nil && r.decoded > r.limit+maxExpansion*r.encoded.n {
			n, r.err = 0, fmt.Errorf("%w: %d bytes of %s decode to at least %d bytes; the limit for a message is %d", ErrExpands, r.encoded.n, r.coding, r.decoded, r.limit)
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// step starts the body or its next member, or decodes bytes of the current member.
func (r *Reader) step(p []byte) (int, error) {
	if !r.begun {
		return 0, r.begin()
	}
	n, err := r.decoder.Read(p)
	if err != io.EOF {
		return n, err
	}
	r.begun = false // look for the next member after returning this one's bytes
	return n, nil
}

// begin prepares the decoder. It returns io.EOF at the end of the body.
func (r *Reader) begin() error {
	const gzipMagic = 0x1f // first byte of a gzip member: RFC 1952, section 2.3.1
	start, err := r.input.Peek(1)
	if err != nil {
		return err // an empty body is accepted: servers send Content-Encoding with responses that have none
	}
	if r.decoder != nil && (r.coding != Gzip || start[0] != gzipMagic) {
		return fmt.Errorf("%w: there are more bytes after its %s data", ErrInvalid, r.coding)
	}
	r.begun = true
	if r.coding == Deflate {
		return r.inflate()
	}
	if r.gz == nil {
		r.gz = new(gzip.Reader)
	}
	r.decoder = r.gz
	if err := r.gz.Reset(r.input); err != nil {
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	r.gz.Multistream(false) // otherwise the end of a member would wait for the next one
	return nil
}

// inflate prepares to decode deflate with or without the zlib wrapper.
func (r *Reader) inflate() (err error) {
	start, err := r.input.Peek(2)
	if err != nil {
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	const method = 8 // RFC 1950, section 2.2
	wrapped := start[0]&0x0f == method && (int(start[0])<<8|int(start[1]))%31 == 0
	switch {
	case wrapped && r.zl == nil:
		r.zl, err = zlib.NewReader(r.input)
	case wrapped:
		err = r.zl.(zlib.Resetter).Reset(r.input, nil)
	case r.fl == nil:
		r.fl = flate.NewReader(r.input)
	default:
		err = r.fl.(flate.Resetter).Reset(r.input, nil)
	}
	if r.decoder = r.fl; wrapped {
		r.decoder = r.zl
	}
	return err
}

// explain returns a decoder's error in words for users, without library names and offsets. It returns other errors
// unchanged.
func (r *Reader) explain(err error) error {
	switch {
	case err == nil, err == io.EOF, errors.Is(err, ErrInvalid):
		return err
	case r.encoded.err != nil:
		return r.encoded.err
	case err == io.ErrUnexpectedEOF:
		return err
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		return fmt.Errorf("%w: the checksum of its %s data is wrong", ErrInvalid, r.coding)
	}
	return fmt.Errorf("%w: it is not valid %s data", ErrInvalid, r.coding)
}
