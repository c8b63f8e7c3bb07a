package relay

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol"
)

const (
	smallRead = 512      // the buffer of a stream that is idle
	largeRead = 32 << 10 // the buffer of a stream while much arrives; it counts against the budget
)

var largeReads = sync.Pool{New: func() any { return new([largeRead]byte) }}

// copyStream passes an event stream on, and ends the request.
func (p *passing) copyStream(target Target, r *response) {
	defer p.relay.end(p)
	if p.x != nil && r.session != "" {
		p.x.SetSession(r.session)
	}
	p.through.Open()
	seen, err := p.copy(r)
	p.release(target, r, err)
	switch {
	case err == nil:
		p.through.Close()
	case p.x == nil || p.x.Frame.Kind != protocol.KindRequest || p.x.Batch != nil || seen.ids || !p.through.BetweenEvents() || p.hasLeft():
		p.through.Break() // a client that has seen ids can resume the stream
	default:
		p.x.Answer(protocol.Message{Frame: p.lostFault().AppendTo(nil, p.x.Frame.IDBytes(), p.era())})
	}
}

// seen describes what was passed on.
type seen struct {
	ids bool // events with ids
}

// look looks for ids in bytes that are passed on. It misses one that begins in earlier bytes.
func (s *seen) look(b []byte) {
	s.ids = s.ids || bytes.HasPrefix(b, []byte("id: ")) || bytes.Contains(b, []byte("\nid: "))
}

// copy passes bytes on until the stream ends. A stream that is not complete has an error.
func (p *passing) copy(r *response) (s seen, err error) {
	small := make([]byte, smallRead)
	buffer := small
	var large *[largeRead]byte
	shrink := func() {
		if large != nil {
			largeReads.Put(large)
			p.relay.o.Budget.Give(largeRead)
			large, buffer = nil, small
		}
	}
	defer shrink()
	for {
		if err := r.conn.SetReadDeadline(time.Now().Add(p.relay.limits.silence)); err != nil {
			return s, err
		}
		n, err := r.Read(buffer)
		if n > 0 {
			s.look(buffer[:n])
			if _, err := p.through.Write(buffer[:n]); err != nil {
				return s, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, err
		case n < smallRead:
			shrink()
		case large == nil && p.relay.o.Budget.Take(largeRead):
			large = largeReads.Get().(*[largeRead]byte)
			buffer = large[:]
		}
	}
}
