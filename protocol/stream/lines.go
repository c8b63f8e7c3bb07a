package stream

import (
	"bytes"
	"io"
)

// Whitespace is the set of bytes that may surround a JSON value.
const Whitespace = " \t\r\n"

const (
	linesMin = 4 << 10  // initial read buffer; most lines fit
	linesMax = 64 << 10 // largest read buffer: the capacity of a Linux pipe
)

// Lines splits a byte stream into lines of any length with a small buffer. It returns a long line in pieces. It must
// be used by one goroutine.
type Lines struct {
	R          io.Reader
	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	cr         bool  // a lone \r also ends a line, as in SSE
	skipLF     bool  // the last line ended with \r; a following \n belongs to the same line end
	err        error // returned when buf is used up
}

// Reset starts reading a new stream. It reuses the buffer.
func (l *Lines) Reset(r io.Reader) {
	l.R, l.start, l.end, l.skipLF, l.err = r, 0, 0, false, nil
}

// Next returns the next piece of the current line without the line end. ended reports whether it is the last piece.
// The piece is valid until the next call. Next blocks until the stream has data. Unless cr is set, a \r before the \n
// stays in the piece.
func (l *Lines) Next() (piece []byte, ended bool, err error) {
	for {
		if l.skipLF && l.start < l.end {
			if l.buf[l.start] == '\n' {
				l.start++
			}
			l.skipLF = false
		}
		if piece, ended = l.cut(); ended {
			return piece, true, nil
		}
		if l.end-l.start >= linesMin || (l.err != nil && l.end > l.start) {
			piece = l.buf[l.start:l.end]
			l.start = l.end
			return piece, false, nil
		}
		if l.err != nil {
			return nil, false, l.err
		}
		l.fill()
	}
}

// Rest reads more of an unfinished line, directly into rope if the line is long. ended reports whether the line is complete.
// rope must already contain the pieces that Next returned. Rest does not support lines that end with a lone \r.
func (l *Lines) Rest(rope *Rope) (ended bool, err error) {
	if l.start < l.end || l.err != nil || rope.N < ropeSmall || rope.Err != nil {
		piece, ended, err := l.Next()
		rope.Add(piece)
		return ended, err
	}
	free := rope.tail()
	if rope.Err != nil {
		return l.Rest(rope)
	}
	free = free[:min(len(free), linesMax)]
	n, err := l.R.Read(free)
	if i := bytes.IndexByte(free[:n], '\n'); i >= 0 {
		l.keep(free[i+1:n], err)
		rope.grow(i)
		return true, nil
	}
	rope.grow(n)
	return false, err
}

// keep stores bytes read after the end of a line in the buffer, which must be empty.
func (l *Lines) keep(rest []byte, err error) {
	if len(l.buf) < len(rest) {
		l.buf = make([]byte, linesMax)
	}
	l.start, l.end, l.err = 0, copy(l.buf, rest), err
}

// Peek blocks until the buffered bytes contain more than white space, the buffer is full, or the stream has ended. It returns
// the buffered bytes.
func (l *Lines) Peek() []byte {
	for {
		waiting := l.buf[l.start:l.end]
		if len(bytes.TrimLeft(waiting, Whitespace)) > 0 || l.err != nil || len(waiting) >= linesMax {
			return waiting
		}
		l.fill()
	}
}

// cut returns a complete line from the buffer.
func (l *Lines) cut() ([]byte, bool) {
	waiting := l.buf[l.start:l.end]
	i := bytes.IndexByte(waiting, '\n')
	if l.cr {
		upTo := waiting
		if i >= 0 {
			upTo = waiting[:i]
		}
		if j := bytes.IndexByte(upTo, '\r'); j >= 0 {
			l.start += j + 1
			l.skipLF = true
			return waiting[:j], true
		}
	}
	if i < 0 {
		return nil, false
	}
	l.start += i + 1
	return waiting[:i], true
}

// fill reads until a read returns bytes or an error, at most 100 times. It first enlarges a full buffer, up to
// linesMax.
func (l *Lines) fill() {
	full := l.end == len(l.buf)
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if full && len(l.buf) < linesMax {
		bigger := make([]byte, max(linesMin, min(2*len(l.buf), linesMax)))
		copy(bigger, l.buf[:l.end])
		l.buf = bigger
	}
	for range 100 {
		n, err := l.R.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
