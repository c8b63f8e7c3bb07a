package stream

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"goblin-actor/protocol"
)

const maxEventID = 1 << 10 // maximum length of an event id; a longer one is ignored for resumption

// MaxRetry is the upper limit for a server's retry field. Longer values are reduced to it.
const MaxRetry = 60 * time.Second

// EventReader reads server-sent events (HTML Living Standard, section 9.2.6). It returns the data of events that have
// no name, the name message, or the name Also. It skips comments, other events and events without data. It must be
// used by one goroutine.
type EventReader struct {
	Lines  Lines
	Rope   Rope
	LastID string        // the last event id; kept by Reset
	Retry  time.Duration // the server's retry field; 0 if none; kept by Reset
	Events int           // number of complete events on this stream that have data or an id
	Also   string        // another name of events to return; "" for none
	Name   string        // name of the event that Next returned; "" means message

	Memory *protocol.Memory // memory of the returned data if it can be reused, otherwise nil

	begun bool   // the first line was read
	event string // name of the event being read; "" means message
	id    string // its id
	hasID bool
	data  int // number of its data lines
}

// NewEventReader returns a reader of events of at most maxBytes, which it counts in budget. Call Reset to set the stream.
func NewEventReader(maxBytes int, budget *Budget) EventReader {
	return EventReader{Lines: Lines{cr: true}, Rope: Rope{Max: maxBytes, Budget: budget}}
}

// Reset starts reading a new stream.
func (s *EventReader) Reset(r io.Reader) {
	s.Lines.Reset(r)
	s.Rope.Reset()
	s.Events, s.begun = 0, false
	s.begin()
}

// begin discards the event being read.
func (s *EventReader) begin() { s.event, s.id, s.hasID, s.data = "", "", false, 0 }

// Next returns the data of the next event, which the caller owns. It blocks until there is an event. It returns io.EOF
// at the end of the stream, even after an incomplete event. For an event over the limit it returns ErrFrameTooLarge or
// ErrOverBudget; the event is skipped, and Next may be called again.
func (s *EventReader) Next() ([]byte, error) {
	s.Rope.Reset()
	s.Memory = nil
	for {
		line, ended, err := s.Lines.Next()
		if err != nil {
			s.Rope.Reset() // an event without a final empty line is incomplete, and so is its id: a resumed stream may repeat it
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
		for !ended { // a long line, whose rest matters only for data
			if line, ended, err = s.Lines.Next(); err != nil {
				break
			}
			if isData {
				s.Rope.Add(line)
			}
		}
	}
}

// field processes a line, or its first piece.
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

// dispatch completes the event being read and returns its data, or nil if it is skipped.
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

// IsHeaderValue reports whether s is valid in a header value: it has no control characters except tabs.
func IsHeaderValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
