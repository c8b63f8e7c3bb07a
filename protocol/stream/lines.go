package stream

import (
	"bytes"
	"io"
)

// Blank are the bytes that may stand around a JSON value.
const Blank = " \t\r\n"

const (
	linesMin = 4 << 10  // first read buffer of a stream: most lines fit
	linesMax = 64 << 10 // largest read buffer of a stream: what a Linux pipe holds
)

// Lines cuts a byte stream into lines of any length with a small buffer of its own: a long line comes in pieces.
// Used by one goroutine.
type Lines struct {
	R          io.Reader
	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	cr         bool  // a lone \r ends a line too, as in SSE
	skipLF     bool  // a line ended with the \r that was the last byte read: a \n now belongs to it
	err        error // told once buf is used up
}

// Reset begins a new stream with the old buffer.
func (l *Lines) Reset(r io.Reader) {
	l.R, l.start, l.end, l.skipLF, l.err = r, 0, 0, false, nil
}

// Next returns the next piece of the current line, without line end; ended says that the line ends with it.
// The piece is valid until the next call. It blocks while the stream has nothing.
// With cr false a \r before the \n is left in the piece.
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

// Rest reads more of a line that has not ended, straight into rope where it is long; ended says that the line ends with it. All
// that Next returned of the line must be in rope. Not for lines that end with a lone \r.
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

// keep puts what was read behind a line into the buffer, which is empty.
func (l *Lines) keep(rest []byte, err error) {
	if len(l.buf) < len(rest) {
		l.buf = make([]byte, linesMax)
	}
	l.start, l.end, l.err = 0, copy(l.buf, rest), err
}

// Peek returns what is buffered once it is more than blanks, or all there is. It blocks while the stream has nothing.
func (l *Lines) Peek() []byte {
	for {
		waiting := l.buf[l.start:l.end]
		if len(bytes.TrimLeft(waiting, Blank)) > 0 || l.err != nil || len(waiting) >= linesMax {
			return waiting
		}
		l.fill()
	}
}

// cut returns a whole line of what is buffered.
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

// fill reads once. The buffer grows when a read fills it: more is coming than it was made for.
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
