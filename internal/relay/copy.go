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
	smallRead = 512      // the buffer of a stream while little arrives
	largeRead = 32 << 10 // the buffer of a stream while much arrives; it counts against the budget
)

var largeReads = sync.Pool{New: func() any { return new([largeRead]byte) }}

// copyStream passes an event stream on, and ends the request.
func (p *passing) copyStream(target Target, r *response) {
	if p.target, p.response = target, r; p.x != nil && r.session != "" {
		p.x.SetSession(r.session)
	}
	p.through.Open()
	p.resume()
}

// resume passes on what arrives, until the stream ends or is parked.
func (p *passing) resume() {
	err := p.copy()
	if errors.Is(err, errIdle) {
		return
	}
	p.release(p.target, p.response, err)
	switch {
	case err == nil:
		p.through.Close()
	case p.x == nil || p.x.Frame.Kind != protocol.KindRequest || p.x.Batch != nil || p.ids || !p.through.BetweenEvents() || p.hasLeft():
		p.through.Break() // a client that has seen ids can resume the stream
	default:
		p.x.Answer(protocol.Message{Frame: p.lostFault().AppendTo(nil, p.x.Frame.IDBytes(), p.era())})
	}
	p.relay.end(p)
}

// copy passes bytes on until the stream ends or is parked. It returns nil if the stream is complete, errIdle if it is parked, and
// otherwise why it is incomplete.
func (p *passing) copy() error {
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
		n, err := p.read(buffer)
		if n > 0 {
			p.look(buffer[:n])
			if _, err := p.through.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errIdle) && !p.park(): // something has arrived meanwhile
		case err != nil:
			return err
		case n < smallRead:
			shrink()
		case large == nil && p.relay.o.Budget.Take(largeRead):
			large = largeReads.Get().(*[largeRead]byte)
			buffer = large[:]
		}
	}
}

// look looks for ids of events in bytes that are passed on. It misses one whose line begins in earlier bytes.
func (p *passing) look(b []byte) {
	p.ids = p.ids || bytes.HasPrefix(b, []byte("id: ")) || bytes.Contains(b, []byte("\nid: "))
}

// read reads bytes of the stream. If none have arrived, it waits for them or, if the poller watches the stream, returns errIdle.
func (p *passing) read(b []byte) (int, error) {
	r := p.response
	if p.stream == nil || !r.isDrained() || !p.relay.watch(p) {
		return p.readWithin(b, p.relay.limits.silence)
	}
	n, err := p.readWithin(b, 0) // what TLS has already read
	if n > 0 || !isTimeout(err) {
		return n, err
	}
	if r.conn.isQuiet() {
		return 0, errIdle
	}
	return p.readWithin(b, p.relay.limits.silence)
}

// readWithin reads bytes of the stream that arrive within limit.
func (p *passing) readWithin(b []byte, limit time.Duration) (int, error) {
	now := time.Now()
	if err := p.response.conn.SetReadDeadline(now.Add(limit)); err != nil {
		return 0, err
	}
	n, err := p.response.Read(b)
	if n > 0 {
		p.heard.Store(now.UnixNano())
	}
	return n, err
}
