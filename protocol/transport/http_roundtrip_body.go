package transport

import (
	"bufio"
	"errors"
	"io"
)

const httpLinkTrailer = 8 << 10 // longest trailer of a chunked body

var errLinkChunk = errors.New("malformed chunked body")

// httpLinkBody reads a body of HTTP/1.1: so many bytes, chunks, or all until the connection closes. RFC 9112, section 6.
type httpLinkBody struct {
	src     *bufio.Reader
	left    int64 // bytes left, of the body or of the chunk
	chunked bool
	open    bool // until the connection closes
	begun   bool // the first chunk's size was read
	over    bool // the last chunk and the trailer were read
}

// ended reports whether the whole body was read.
func (b *httpLinkBody) ended() bool {
	if b.chunked {
		return b.over
	}
	return !b.open && b.left == 0
}

// Read implements io.Reader; io.EOF at the end of the body, io.ErrUnexpectedEOF when the connection ends before.
func (b *httpLinkBody) Read(p []byte) (int, error) {
	if b.open {
		return b.src.Read(p)
	}
	if b.left <= 0 {
		if !b.chunked || b.over {
			return 0, io.EOF
		}
		if err := b.chunk(); err != nil {
			return 0, err
		}
		if b.over {
			return 0, io.EOF
		}
	}
	n, err := b.src.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if b.chunked && b.left == 0 && err == nil && b.nextIsBuffered() {
		err = b.chunk() // the end often came along: the connection is free at once
		if err == nil && b.over {
			return n, io.EOF
		}
	}
	return n, httpLinkCut(err)
}

// nextIsBuffered reports whether looking for the next chunk will not block.
func (b *httpLinkBody) nextIsBuffered() bool {
	const end = "\r\n0\r\n\r\n"
	return b.src.Buffered() >= len(end)
}

// chunk reads up to the next chunk's bytes, or the end of the body.
func (b *httpLinkBody) chunk() error {
	if b.begun {
		if line, err := b.line(); err != nil || len(line) != 0 {
			return errors.Join(err, errLinkChunk)
		}
	}
	b.begun = true
	line, err := b.line()
	if err != nil {
		return err
	}
	if b.left, err = httpLinkChunkSize(line); err != nil || b.left > 0 {
		return err
	}
	for left := httpLinkTrailer; left > 0; left -= len(line) + 2 {
		if line, err = b.line(); err != nil {
			return err
		}
		if len(line) == 0 {
			b.over = true
			return nil
		}
	}
	return errLinkChunk
}

// line reads a line and returns it without its end, valid until the next read.
func (b *httpLinkBody) line() ([]byte, error) {
	line, err := b.src.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return nil, errLinkChunk
	}
	if err != nil {
		return nil, httpLinkCut(err)
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// httpLinkChunkSize reads the hexadecimal size in front of a chunk; extensions are ignored.
func httpLinkChunkSize(line []byte) (int64, error) {
	size, digits := int64(0), 0
	for _, c := range line {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		case digits > 0 && (c == ';' || c == ' ' || c == '\t'):
			return size, nil
		default:
			return 0, errLinkChunk
		}
		if digits++; digits > 15 {
			return 0, errLinkChunk
		}
		size = size<<4 | int64(c)
	}
	if digits == 0 {
		return 0, errLinkChunk
	}
	return size, nil
}
