package downstream

import (
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// stdioStream is the EventStream of stdout.
type stdioStream stdioServer

func (*stdioStream) accept() {}

// refuse writes the body, if any. The client's lines are still read.
func (st *stdioStream) refuse(_ int, body []byte, _ time.Duration) {
	if body != nil {
		(*stdioServer)(st).send(protocol.Message{Frame: body})
	}
}

func (st *stdioStream) unsent() int {
	s := (*stdioServer)(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.bytes
}

func (st *stdioStream) push(msg protocol.Message, weight Weight, key outboxKey) Queued {
	s := (*stdioServer)(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(msg, weight, key)
}

func (*stdioStream) endpoint(string)                {}
func (*stdioStream) crowded() bool                  { return false }
func (*stdioStream) resumable(*Replay)              {}
func (*stdioStream) resume(*Replay, string) Resumed { return ResumedNothing }

// close does nothing: running calls are still answered on stdout.
func (*stdioStream) close() {}

func (st *stdioStream) onGone(f func()) {
	s := (*stdioServer)(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		go f()
		return
	}
	s.gone = append(s.gone, f)
}

// stdioExchange is the Exchange of one line.
type stdioExchange struct {
	Exchange
	s       *stdioServer
	body    body
	number  uint64
	settled bool // s.mu guards this field and those below
	left    bool // settled because the client has left
	gone    []func()
}

// settle ends the exchange with a message, whose frame may be nil.
func (x *stdioExchange) settle(msg protocol.Message) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.settled {
		return
	}
	x.settled, x.gone = true, nil
	x.body.release()
	delete(s.running, x)
	if msg.Frame != nil {
		s.put(msg, WeightAnswer, outboxKey{})
	}
	s.signalIdle()
}

// leave ends the exchange because the client has left. It returns the callbacks to call. The caller must hold s.mu.
func (x *stdioExchange) leave() []func() {
	gone := x.gone
	x.settled, x.left, x.gone = true, true, nil
	x.body.release()
	return gone
}

func (x *stdioExchange) answer(msg protocol.Message) { x.settle(msg) }
func (x *stdioExchange) accept()                     { x.settle(protocol.Message{}) }
func (*stdioExchange) setSession(string)             {}
func (*stdioExchange) resumable(*Replay)             {}
func (*stdioExchange) unsent() int                   { return 0 } // see stdioStream
func (x *stdioExchange) budget() *stream.Budget      { return x.s.o.Budget }

func (x *stdioExchange) answers(parts []protocol.Message) {
	x.settle(joinParts(parts))
}

// takeBody returns the line with its budget, which the caller must then release.
func (x *stdioExchange) takeBody() body {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	b := x.body
	x.body.counted = 0
	return b
}

func (x *stdioExchange) refuse(_ int, body []byte, _ time.Duration) {
	x.settle(protocol.Message{Frame: body})
}

func (x *stdioExchange) notify(msg protocol.Message, weight Weight, key string) Queued {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.settled {
		return Queued{Over: true}
	}
	return x.s.put(msg, weight, outboxKey{owner: x.number, key: key})
}

func (x *stdioExchange) onGone(f func()) {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	switch {
	case !x.settled:
		x.gone = append(x.gone, f)
	case x.left:
		go f()
	}
}
