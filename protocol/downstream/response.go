package downstream

import (
	"net"
	"net/http"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Connection is what a Response or a StreamResponse needs from the connection that carries it to the client. Its methods
// do not block and do not call back into the response.
type Connection interface {
	// Wake reports that there may be something to write. Spurious calls are allowed.
	Wake()
	// Watch reports that the response needs to know when the client leaves.
	Watch()
	// Lost ends the connection because the client reads too slowly.
	Lost()
	// Kill ends the connection.
	Kill()
	// DroppedLogs reports how many log and progress messages the response has dropped for a slow reader.
	DroppedLogs(n int)
	// Run calls f, at once or in another goroutine.
	Run(f func())
}

// responseState is the progress of a Response.
type responseState uint8

const (
	responseOpen     responseState = iota // not answered yet
	responseAnswered                      // the answer is known and has to be written
	responseDetached                      // the connection is lost; messages go to the track
	responseOver                          // written, or abandoned by the client
)

// Response is an Exchange that one HTTP response answers: a JSON body, or an event stream. Handlers put the answer into
// it from any goroutine. One goroutine at a time takes it out and writes it to the client.
//
// It is never reused: a Handler may hold it as long as it likes.
type Response struct {
	Exchange
	carrier       Connection
	body          body
	noEarlyStream bool // initialize: the session id belongs in the header, which an early stream would have sent already
	deletes       bool // a DELETE: Accept means 204

	state   responseState // mu guards all fields from here on
	left    bool          // the client left before its answer was written
	opened  bool          // the response is an event stream
	begun   bool          // the stream's first bytes are written
	primed  bool          // the track's first event is written
	written bool          // the answer is in the stream

	mu      sync.Mutex
	verdict verdict
	session string
	queue   outboxQueue
	gone    []func()
	goneOne [1]func()    // storage for the usual single element of gone
	replay  *Replay      // nil if the response cannot be resumed
	track   *track       // the stream's track in replay, once the stream is open
	passed  *PassThrough // another node gives the response; nil = this one does
}

// NewResponse returns the response to a request from origin. conn carries the response. At most limit bytes of messages wait
// for a slow reader; if limit is 0, a default applies.
func NewResponse(origin Origin, conn Connection, budget *stream.Budget, limit int) *Response {
	x := &Response{}
	x.Origin = origin
	x.init(conn, budget, orDefault(limit, defaultMaxMessage+stream.Slack))
	return x
}

func (x *Response) init(conn Connection, budget *stream.Budget, limit int) {
	x.carrier = conn
	x.Began = time.Now()
	x.port = x
	x.body.budget = budget
	x.queue.limit = limit
	x.queue.budget = budget
}

// Receive parses the request's body, which counts against the budget until the request is answered. If the body is not
// accepted, Receive returns the response to send at once.
func (x *Response) Receive(raw []byte) (refused *Head) {
	if !x.body.budget.Take(len(raw)) {
		return &Head{Status: http.StatusServiceUnavailable, Body: refusalBodies[refusedBudget], RetryAfter: serverRetryAfter}
	}
	x.body.counted = len(raw)
	if answer, status := x.parse(raw); answer != nil {
		x.body.release()
		return &Head{Status: status, Body: answer}
	}
	x.noEarlyStream = x.Frame.Method == protocol.MethodInitialize
	return nil
}

// Delete marks the request as a DELETE, which has no body.
func (x *Response) Delete() { x.deletes = true }

func (x *Response) answer(msg protocol.Message) {
	x.decide(verdict{status: http.StatusOK, Message: msg})
}

func (x *Response) answerPieces(pieces [][]byte, newline bool, memory *protocol.Memory) {
	x.decide(verdict{status: http.StatusOK, pieces: pieces, Message: protocol.Message{Newline: newline}, memory: memory})
}

func (x *Response) answers(parts []protocol.Message) {
	x.decide(verdict{status: http.StatusOK, batch: parts})
}

func (x *Response) accept() {
	status := http.StatusAccepted
	if x.deletes {
		status = http.StatusNoContent
	}
	x.decide(verdict{status: status})
}

func (x *Response) refuse(status int, body []byte, retryAfter time.Duration) {
	x.decide(verdict{status: status, Message: protocol.Message{Frame: body}, refusal: true, retryAfter: retryAfter})
}

func (x *Response) decide(v verdict) {
	x.mu.Lock()
	switch x.state {
	case responseOpen:
		var ok bool
		if v.counted, ok = x.body.budget.TakeAnswer(x.client(), v.size()); !ok {
			v = verdict{status: http.StatusOK, Message: protocol.Message{Frame: x.noRoom()}}
		}
		x.state, x.verdict = responseAnswered, v
		x.mu.Unlock()
		x.carrier.Wake()
	case responseDetached:
		x.state = responseOver
		x.body.release()
		x.mu.Unlock()
		x.track.finish(v.parts())
	default:
		x.mu.Unlock()
	}
}

func (x *Response) notify(msg protocol.Message, weight Weight, key string) Queued {
	if x.Origin.JSONOnly {
		return Queued{}
	}
	x.mu.Lock()
	if x.state != responseOpen {
		detached := x.state == responseDetached
		x.mu.Unlock()
		if detached {
			x.track.deliver(msg, weight, outboxKey{key: key})
		}
		return Queued{Over: !detached}
	}
	done, late := x.queue.push(msg, weight, outboxKey{key: key})
	x.mu.Unlock()
	if done.Dropped > 0 {
		x.carrier.DroppedLogs(done.Dropped)
	}
	if late {
		x.end(true)
		x.carrier.Lost()
		return done
	}
	x.carrier.Wake()
	return done
}

func (x *Response) setSession(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = id
}

func (x *Response) onGone(f func()) {
	x.mu.Lock()
	if x.state == responseOver {
		left := x.left
		x.mu.Unlock()
		if left {
			x.carrier.Run(f)
		}
		return
	}
	if x.gone == nil {
		x.gone = x.goneOne[:0]
	}
	x.gone = append(x.gone, f)
	x.mu.Unlock()
	x.carrier.Watch()
}

// end detaches the response from its connection. left means that the client has not received the answer on that
// connection. If there is no answer yet, end acts as if left were true. end returns false if the response was already
// detached.
func (x *Response) end(left bool) bool {
	x.mu.Lock()
	if x.detached() {
		x.mu.Unlock()
		return false
	}
	open, gone := x.state == responseOpen, x.gone
	x.left = left || open
	x.state = responseOver
	x.body.budget.GiveAnswer(x.client(), x.verdict.counted)
	if x.track != nil {
		var last []protocol.Message
		if !x.written {
			last = x.verdict.parts()
		}
		if open {
			x.state, gone = responseDetached, nil // no cancellation: MCP 2025-11-25, basic/transports, sending messages
		}
		x.track.detach(&x.queue, !open, last)
	}
	if !x.left && x.track == nil {
		// All bytes were copied or handed to the kernel. In all other cases the memory is left to the garbage collector.
		x.verdict.memory.Free()
	}
	x.gone, x.verdict = nil, verdict{}
	x.queue.clear()
	if x.passed != nil {
		x.passed.wake()
	}
	if x.state == responseOver {
		x.body.release()
	}
	left = x.left
	x.mu.Unlock()
	if left {
		for _, f := range gone {
			f()
		}
	}
	return true
}

// detached reports whether the response no longer has its connection. The caller must hold mu.
func (x *Response) detached() bool { return x.state == responseOver || x.state == responseDetached }

// Over reports whether the response has nothing more to write on its connection.
func (x *Response) Over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.detached() || x.passed != nil && x.passed.broken && len(x.passed.waiting) == 0
}

// Leave reports that the client has closed the connection. A call with a resumable stream continues.
func (x *Response) Leave() { x.end(true) }

// depart ends the connection of a response because its client has reconnected on another one.
func (x *Response) depart() {
	if x.end(true) {
		x.carrier.Kill()
	}
}

func (x *Response) resumable(r *Replay) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.replay != nil || x.state == responseOver || x.passed != nil { // another node keeps its own stream
		return
	}
	if x.replay = r; x.opened { // the Handler took longer than SSEAfter
		x.track = r.open(true, x.Frame.IDBytes(), x, nil)
	}
}

func (x *Response) budget() *stream.Budget { return x.body.budget }

// takeBody returns the body with its budget and lease, which the caller must then release.
func (x *Response) takeBody() body {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.body
	x.body.counted, x.body.lease = 0, nil
	return b
}

func (x *Response) unsent() int { return x.Waiting() }

// Waiting returns how many bytes wait for the client to read them.
func (x *Response) Waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.verdict.size() + x.queue.bytes
	if x.passed != nil {
		n += len(x.passed.waiting)
	}
	return n
}

// nextStep is what the writer of a response has to do next.
type nextStep uint8

const (
	stepWait   nextStep = iota
	stepAnswer          // write the answer as one body
	stepStream          // a message precedes the answer: open the stream
	stepLeave           // the client has left
	stepPassed          // like stepWait, but the response comes from another node, so this one adds nothing to it
)

// look returns the next step. watch reports whether the Handler needs to know when the client leaves.
func (x *Response) look() (found nextStep, watch bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.detached():
		return stepLeave, false
	case !x.queue.empty():
		return stepStream, false
	case x.state == responseAnswered:
		return stepAnswer, false
	case x.passed != nil:
		return x.passed.next(x.opened), len(x.gone) > 0
	}
	return stepWait, len(x.gone) > 0
}

// openStream turns the response into an event stream and returns the session id for its header.
func (x *Response) openStream() (session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.opened = true; x.replay != nil && x.state != responseOver {
		x.track = x.replay.open(true, x.Frame.IDBytes(), x, nil)
	}
	return x.session
}

// appendFirst appends the first bytes of the stream. Some proxies and clients pass on a response only when they have received
// some bytes of its body.
func (x *Response) appendFirst(dst []byte) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = true
	if x.passed != nil {
		return dst
	}
	if x.track == nil {
		return append(dst, streamComment...)
	}
	x.primed = true
	return x.track.appendPrime(dst, 0)
}

// appendWaiting appends waiting messages as events, until len(dst) >= most, and then the answer if there is one. last reports
// that the stream ends with the appended bytes. The error is net.ErrClosed if the client has left.
func (x *Response) appendWaiting(dst []byte, most int) (_ []byte, last bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.detached() {
		return dst, true, net.ErrClosed
	}
	if x.passed != nil {
		if dst = x.passed.take(dst); x.passed.broken && len(dst) == 0 {
			return dst, true, net.ErrClosed
		}
	}
	if x.track != nil && !x.primed {
		x.primed = true
		dst = x.track.appendPrime(dst, 0)
	}
	if x.track == nil {
		dst = appendEvents(dst, &x.queue, most)
	} else {
		dst = x.track.appendEvents(dst, &x.queue, most)
	}
	if len(dst) >= most || x.state != responseAnswered || !x.queue.empty() {
		return dst, false, nil
	}
	x.body.releaseLease()
	if x.verdict.events {
		return append(dst, x.verdict.Frame...), true, nil
	}
	if x.track == nil {
		return appendParts(dst, x.verdict.parts()), true, nil
	}
	x.written = true
	return x.track.appendLast(dst, x.verdict.parts()), true, nil
}

// take returns the answer to write as one body, with the session id for its header.
func (x *Response) take() (v verdict, session string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body.releaseLease()
	if v = x.verdict; !v.refusal { // a refused request has not opened a session
		session = x.session
	}
	return v, session
}
