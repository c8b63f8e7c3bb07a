package downstream

import (
	"net"
	"net/http"

	"goblin-actor/protocol"
)

// PassThrough passes on the response that another node of a cluster gives to a request. If that response is an event
// stream, the client gets exactly its bytes: this node adds no comments, since the other node keeps the stream alive. Any
// other response is given through the Exchange or EventStream itself.
//
//	p := x.PassThrough()  // from now on the exchange does not become a stream by itself
//	p.Open()              // the other node has begun an event stream
//	p.Write(…)            // bytes of that stream; blocks while the client is slow
//	p.Close()             // the stream is complete; p.Break() if it is not
//
// One goroutine at a time uses a PassThrough.
type PassThrough struct {
	response passing
	taken    chan struct{} // capacity 1: the waiting bytes were taken, or the response has ended
	tail     [2]byte       // the last bytes of the stream; zero at its beginning

	// The mutex of the response guards these fields.
	open    bool
	broken  bool
	waiting []byte // what Write waits for; belongs to its caller
}

// passing is a Response or StreamResponse that gets the bytes of another node's stream.
type passing interface {
	openPassed()
	// offer makes b the waiting bytes, unless it is nil. It reports whether no bytes wait anymore.
	offer(b []byte) (taken bool, err error)
	closePassed()
	breakPassed()
	undoPassed()
}

// PassThrough prepares the exchange for the response of another node. The exchange must have arrived over HTTP. The caller
// must end it, even if its client leaves.
func (x *Exchange) PassThrough() *PassThrough {
	r := x.port.(*Response)
	p := &PassThrough{response: r, taken: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed, r.replay = p, nil
	return p
}

// PassThrough prepares the stream for the response of another node. The stream must have arrived over HTTP.
func (s *EventStream) PassThrough() *PassThrough {
	st := s.out.(*StreamResponse)
	p := &PassThrough{response: st, taken: make(chan struct{}, 1)}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.passed = p
	return p
}

// Open begins the event stream. An exchange with Origin.JSONOnly must not have one.
func (p *PassThrough) Open() { p.response.openPassed() }

// Write sends bytes of the stream. They may begin and end within an event. Write returns when they are about to be written
// to the client, so that a slow client slows down the other node. It does not retain b. The error is net.ErrClosed if the
// client has left, or if this node ends the stream.
func (p *PassThrough) Write(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	taken, err := p.response.offer(b)
	for !taken && err == nil {
		<-p.taken
		taken, err = p.response.offer(nil)
	}
	if err != nil {
		return 0, err
	}
	p.tail[0] = p.tail[1]
	if len(b) > 1 {
		p.tail[0] = b[len(b)-2]
	}
	p.tail[1] = b[len(b)-1]
	return len(b), nil
}

// BetweenEvents reports whether the bytes written so far are whole events. Only then may the open stream of an exchange end
// with a message of this node.
func (p *PassThrough) BetweenEvents() bool {
	return p.tail == [2]byte{} || p.tail == [2]byte{'\n', '\n'}
}

// Close ends the stream, which is complete.
func (p *PassThrough) Close() { p.response.closePassed() }

// Break ends the stream once the bytes are written, so that its client can see that it is incomplete.
func (p *PassThrough) Break() { p.response.breakPassed() }

// Undo ends the pass-through, so that this node can give the response itself. No part of another node's response may have been written.
func (p *PassThrough) Undo() { p.response.undoPassed() }

// take appends the waiting bytes to dst. The caller must hold the mutex of the response.
func (p *PassThrough) take(dst []byte) []byte {
	if len(p.waiting) == 0 {
		return dst
	}
	dst = append(dst, p.waiting...)
	p.waiting = nil
	p.wake()
	return dst
}

// wake makes Write look again. The caller must hold the mutex of the response.
func (p *PassThrough) wake() {
	select {
	case p.taken <- struct{}{}:
	default:
	}
}

// next returns the next step of a response to an exchange that is not answered yet. The caller must hold its mutex.
func (p *PassThrough) next(opened bool) nextStep {
	switch {
	case p.broken && !opened:
		return stepLeave
	case p.broken, p.open && (!opened || len(p.waiting) > 0):
		return stepStream
	}
	return stepPassed
}

func (x *Response) openPassed() {
	x.mu.Lock()
	x.passed.open = true
	x.mu.Unlock()
	x.carrier.Wake()
}

func (x *Response) offer(b []byte) (taken bool, err error) {
	x.mu.Lock()
	p := x.passed
	if x.state != responseOpen || p.broken {
		p.waiting = nil
		x.mu.Unlock()
		return false, net.ErrClosed
	}
	if b != nil {
		p.waiting = b
	}
	taken = len(p.waiting) == 0
	x.mu.Unlock()
	if b != nil {
		x.carrier.Wake()
	}
	return taken, nil
}

func (x *Response) closePassed() {
	x.answered(nil)
	x.decide(verdict{status: http.StatusOK})
}

func (x *Response) breakPassed() {
	x.answered(nil)
	x.mu.Lock()
	x.passed.broken = true
	x.mu.Unlock()
	x.carrier.Wake()
}

func (x *Response) undoPassed() {
	x.mu.Lock()
	x.passed = nil
	x.mu.Unlock()
	x.carrier.Wake()
}

// passing reports whether the response comes from another node.
func (x *Response) passing() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.passed != nil
}

func (st *StreamResponse) openPassed() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.state == streamPending {
		st.passed.open = true
		st.settle(streamAccepted, nil)
	}
}

func (st *StreamResponse) offer(b []byte) (taken bool, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	p := st.passed
	if st.state != streamAccepted && st.state != streamOpen && (b != nil || st.state != streamClosing) {
		p.waiting = nil
		return false, net.ErrClosed
	}
	if b != nil {
		p.waiting = b
		st.carrier.Wake()
	}
	return len(p.waiting) == 0, nil
}

func (st *StreamResponse) closePassed() { st.close() }

func (st *StreamResponse) breakPassed() {
	st.mu.Lock()
	st.passed.broken = true
	st.mu.Unlock()
	st.close()
}

func (st *StreamResponse) undoPassed() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.passed = nil
}

// passing reports whether the response comes from another node.
func (st *StreamResponse) passing() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.passed != nil
}

// AnswerEvents answers with events that another node has written for this exchange. Together they are the whole response,
// which is not written as a stream. Another node gives such an answer if Origin.EventsOnly is set.
func (x *Exchange) AnswerEvents(events []byte) {
	x.answered(nil)
	x.port.(*Response).decide(verdict{status: http.StatusOK, Message: protocol.Message{Frame: events}, events: true})
}

// AnswerNoRoom answers that the response of another node does not fit in the budget.
func (x *Exchange) AnswerNoRoom() {
	x.answered(nil)
	x.port.(*Response).decide(verdict{status: http.StatusOK, Message: protocol.Message{Frame: x.noRoom()}})
}
