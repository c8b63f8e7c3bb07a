package transport

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"goblin-actor/protocol"
)

const (
	sseMaxID    = 1 << 10          // longest event id kept; a longer one cannot be resumed from
	sseMaxRetry = 60 * time.Second // a server that asks for more is not waited for longer
)

// sseReader reads a server's event stream: HTML Living Standard, section 9.2.6. It returns the data of events without
// a name or called message, or as also says; comments, other events and those without data are passed over. Used by one goroutine.
type sseReader struct {
	lines  linkLines
	rope   linkRope
	lastID string        // of the last event that had one; outlives reset
	retry  time.Duration // what the server asked for, 0 = nothing; outlives reset
	events int           // that ended on this stream, with data or without
	also   string        // events of this name are returned too; "" = none
	name   string        // of the event next returned; "" = message

	memory *protocol.Memory // what its data lies in, if that may be used again; else nil

	begun bool   // the first line was read
	event string // name of the event being read; "" = message
	id    string // its id
	hasID bool
	data  int // data lines it has
}

func newSSEReader(maxBytes int, budget *Budget) sseReader {
	return sseReader{lines: linkLines{cr: true}, rope: linkRope{max: maxBytes, budget: budget}}
}

// reset begins a new stream.
func (s *sseReader) reset(r io.Reader) {
	s.lines.reset(r)
	s.rope.reset()
	s.events, s.begun = 0, false
	s.begin()
}

// begin forgets the event being read.
func (s *sseReader) begin() { s.event, s.id, s.hasID, s.data = "", "", false, 0 }

// next returns the data of the next event, in memory of its own. It blocks until there is one; io.EOF at the end of the
// stream, whatever of an event came before it. An event larger than the limit is passed over with ErrFrameTooLarge (or ErrOverBudget): next may be called again.
func (s *sseReader) next() ([]byte, error) {
	s.rope.reset()
	s.memory = nil
	for {
		line, ended, err := s.lines.next()
		if err != nil {
			s.rope.reset() // what was not ended by an empty line is no event, and its id none: the rest may come on a resumed stream
			return nil, err
		}
		if !s.begun {
			s.begun = true
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if ended && len(line) == 0 {
			if data, err := s.dispatch(); data != nil || err != nil {
				return data, err
			}
			continue
		}
		isData := s.field(line)
		for !ended { // a long line; only data has any use for the rest
			if line, ended, err = s.lines.next(); err != nil {
				break
			}
			if isData {
				s.rope.add(line)
			}
		}
	}
}

// field takes a line, or the first piece of it.
func (s *sseReader) field(line []byte) (isData bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if s.data > 0 {
			s.rope.add([]byte("\n"))
		}
		s.rope.add(value)
		s.data++
		return true
	case "event":
		if s.event = ""; string(value) != "message" {
			s.event = string(value[:min(len(value), sseMaxID)])
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= sseMaxID && httpLinkIsValue(string(value)) {
			s.id, s.hasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.retry = min(time.Duration(ms)*time.Millisecond, sseMaxRetry)
		}
	}
	return false
}

// dispatch ends the event being read and returns its data, nil when there is none that matters.
func (s *sseReader) dispatch() ([]byte, error) {
	defer s.begin()
	if s.hasID {
		s.lastID = s.id
	}
	if s.hasID || s.data > 0 {
		s.events++
	}
	if s.rope.err != nil {
		err := s.rope.err
		s.rope.reset()
		return nil, err
	}
	if s.name = s.event; s.rope.n == 0 || s.event != "" && s.event != s.also {
		s.rope.reset()
		return nil, nil
	}
	var data []byte
	data, s.memory = s.rope.take()
	return data, nil
}

// httpLinkIsValue reports whether s may stand in the value of a header: no control characters but tabs.
func httpLinkIsValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
