package stream

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"goblin-actor/protocol"
)

const maxEventID = 1 << 10 // longest event id kept; a longer one cannot be resumed from

// MaxRetry is the longest that a server's retry is waited for; who asks for more is asked again then.
const MaxRetry = 60 * time.Second

// EventReader reads a server's event stream: HTML Living Standard, section 9.2.6. It returns the data of events without
// a name or called message, or as also says; comments, other events and those without data are passed over. Used by one goroutine.
type EventReader struct {
	Lines  Lines
	Rope   Rope
	LastID string        // of the last event that had one; outlives reset
	Retry  time.Duration // what the server asked for, 0 = nothing; outlives reset
	Events int           // that ended on this stream, with data or without
	Also   string        // events of this name are returned too; "" = none
	Name   string        // of the event next returned; "" = message

	Memory *protocol.Memory // what its data lies in, if that may be used again; else nil

	begun bool   // the first line was read
	event string // name of the event being read; "" = message
	id    string // its id
	hasID bool
	data  int // data lines it has
}

// NewEventReader returns a reader of events of maxBytes at most, which are counted in budget. Reset gives it its stream.
func NewEventReader(maxBytes int, budget *Budget) EventReader {
	return EventReader{Lines: Lines{cr: true}, Rope: Rope{Max: maxBytes, Budget: budget}}
}

// Reset begins a new stream.
func (s *EventReader) Reset(r io.Reader) {
	s.Lines.Reset(r)
	s.Rope.Reset()
	s.Events, s.begun = 0, false
	s.begin()
}

// begin forgets the event being read.
func (s *EventReader) begin() { s.event, s.id, s.hasID, s.data = "", "", false, 0 }

// Next returns the data of the next event, in memory of its own. It blocks until there is one; io.EOF at the end of the
// stream, whatever of an event came before it. An event larger than the limit is passed over with ErrFrameTooLarge (or ErrOverBudget): next may be called again.
func (s *EventReader) Next() ([]byte, error) {
	s.Rope.Reset()
	s.Memory = nil
	for {
		line, ended, err := s.Lines.Next()
		if err != nil {
			s.Rope.Reset() // what was not ended by an empty line is no event, and its id none: the rest may come on a resumed stream
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
			if line, ended, err = s.Lines.Next(); err != nil {
				break
			}
			if isData {
				s.Rope.Add(line)
			}
		}
	}
}

// field takes a line, or the first piece of it.
func (s *EventReader) field(line []byte) (isData bool) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if s.data > 0 {
			s.Rope.Add([]byte("\n"))
		}
		s.Rope.Add(value)
		s.data++
		return true
	case "event":
		if s.event = ""; string(value) != "message" {
			s.event = string(value[:min(len(value), maxEventID)])
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 && len(value) <= maxEventID && IsHeaderValue(string(value)) {
			s.id, s.hasID = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			s.Retry = min(time.Duration(ms)*time.Millisecond, MaxRetry)
		}
	}
	return false
}

// dispatch ends the event being read and returns its data, nil when there is none that matters.
func (s *EventReader) dispatch() ([]byte, error) {
	defer s.begin()
	if s.hasID {
		s.LastID = s.id
	}
	if s.hasID || s.data > 0 {
		s.Events++
	}
	if s.Rope.Err != nil {
		err := s.Rope.Err
		s.Rope.Reset()
		return nil, err
	}
	if s.Name = s.event; s.Rope.N == 0 || s.event != "" && s.event != s.Also {
		s.Rope.Reset()
		return nil, nil
	}
	var data []byte
	data, s.Memory = s.Rope.Take()
	return data, nil
}

// IsHeaderValue reports whether s may stand in the value of a header: no control characters but tabs.
func IsHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
