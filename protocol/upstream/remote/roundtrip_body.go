package remote

import (
	"bufio"
	"errors"
	"io"
)

const maxTrailer = 8 << 10 // maximum size of the trailer of a chunked body

var errMalformedChunk = errors.New("malformed chunked body")

// answerBody reads an HTTP/1.1 body of a given length, in chunks, or until the connection closes. RFC 9112, section 6.
type answerBody struct {
	src     *bufio.Reader
	left    int64 // bytes left, of the body or of the chunk
	chunked bool
	open    bool // until the connection closes
	begun   bool // the first chunk's size was read
	over    bool // the last chunk and the trailer were read
}

// ended reports whether the whole body was read.
func (b *answerBody) ended() bool {
	if b.chunked {
		return b.over
	}
	return !b.open && b.left == 0
}

// Read implements io.Reader. It returns io.ErrUnexpectedEOF if the connection ends before the body.
func (b *answerBody) Read(p []byte) (int, error) {
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
		err = b.chunk() // the end is often buffered, too; then the connection is free at once
		if err == nil && b.over {
			return n, io.EOF
		}
	}
	return n, unexpectedEOF(err)
}

// nextIsBuffered reports whether the size of the next chunk can be read without blocking.
func (b *answerBody) nextIsBuffered() bool {
	const end = "\r\n0\r\n\r\n"
	return b.src.Buffered() >= len(end)
}

// chunk reads up to the next chunk's bytes, or the end of the body.
func (b *answerBody) chunk() error {
	if b.begun {
		if line, err := b.line(); err != nil || len(line) != 0 {
			return errors.Join(err, errMalformedChunk)
		}
	}
	b.begun = true
	line, err := b.line()
	if err != nil {
		return err
	}
	if b.left, err = chunkSize(line); err != nil || b.left > 0 {
		return err
	}
	for left := maxTrailer; left > 0; left -= len(line) + 2 {
		if line, err = b.line(); err != nil {
			return err
		}
		if len(line) == 0 {
			b.over = true
			return nil
		}
	}
	return errMalformedChunk
}

// line reads a line and returns it without the line break. It is valid until the next read.
func (b *answerBody) line() ([]byte, error) {
	line, err := b.src.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return nil, errMalformedChunk
	}
	if err != nil {
		return nil, unexpectedEOF(err)
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// chunkSize parses the hexadecimal size of a chunk and ignores extensions.
func chunkSize(line []byte) (int64, error) {
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
			return 0, errMalformedChunk
		}
		if digits++; digits > 15 {
			return 0, errMalformedChunk
		}
		size = size<<4 | int64(c)
	}
	if digits == 0 {
		return 0, errMalformedChunk
	}
	return size, nil
}
