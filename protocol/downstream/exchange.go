package downstream

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// exchangeState is how far an HTTP exchange has come.
type exchangeState uint8

const (
	exchangeOpen    exchangeState = iota // no answer yet
	exchangeDecided                      // the answer is known, the handler has to write it
	exchangeAway                         // the connection is gone, the exchange goes on: its track has what comes
	exchangeOver                         // written, or the client has left
)

// verdict is the one final thing said in an exchange.
type verdict struct {
	status           int
	protocol.Message                    // the answer, or the body of a refusal; without frame there is none
	pieces           net.Buffers        // of the answer, instead of its frame
	memory           *protocol.Memory   // what they lie in, if it is to be used again; else nil
	batch            []protocol.Message // a batch's answers instead: one array, or events of their own
	refusal          bool
	retryAfter       time.Duration
	counted          int // bytes of it taken from the budget
}

// httpExchange is an Exchange over HTTP. The Handler's goroutines put the answer into it, the connection's goroutine
// waits for that and writes. It is one allocation, never reused: the Handler may hold it as long as it likes.
type httpExchange struct {
	Exchange
	server        *Server
	conn          *serverConn
	body          body
	eventsOnly    bool // the client admits nothing but an event stream
	noEarlyStream bool // initialize: its session id belongs into headers, which a stream would have sent already
	deletes       bool // a DELETE: Accept is 204

	state  exchangeState // mu guards all from here on
	left   bool          // the client left before its answer was written
	opened bool          // the answer is a stream
	primed bool          // the track's first event is written
	told   bool          // the verdict is in the stream

	mu      sync.Mutex
	verdict verdict
	session string
	queue   outboxQueue
	gone    []func()
	goneOne [1]func() // room for the one there usually is
	replay  *Replay   // nil: what the connection loses is lost
	track   *track    // of replay, once the stream is open
}

func (s *Server) newExchange(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) *httpExchange {
	x := &httpExchange{server: s, conn: c, eventsOnly: !h.accept.admitsJSON()}
	x.Origin = s.originOf(ctx, c, h, path)
	x.Began = time.Now()
	x.port = x
	x.body.budget = s.options.Budget
	x.queue.limit = s.maxMessage + stream.Slack
	x.queue.budget = s.options.Budget
	return x
}

func (x *httpExchange) answer(msg protocol.Message) {
	x.decide(verdict{status: http.StatusOK, Message: msg})
}

func (x *httpExchange) answerPieces(pieces [][]byte, newline bool, memory *protocol.Memory) {
	x.decide(verdict{status: http.StatusOK, pieces: pieces, Message: protocol.Message{Newline: newline}, memory: memory})
}

func (x *httpExchange) answers(parts []protocol.Message) {
	x.decide(verdict{status: http.StatusOK, batch: parts})
}

func (x *httpExchange) accept() {
	status := http.StatusAccepted
	if x.deletes {
		status = http.StatusNoContent
	}
	x.decide(verdict{status: status})
}

func (x *httpExchange) refuse(status int, body []byte, retryAfter time.Duration) {
	x.decide(verdict{status: status, Message: protocol.Message{Frame: body}, refusal: true, retryAfter: retryAfter})
}

func (x *httpExchange) decide(v verdict) {
	x.mu.Lock()
	switch x.state {
	case exchangeOpen:
		var ok bool
		if v.counted, ok = x.body.budget.TakeAnswer(x.client(), v.size()); !ok {
			v = verdict{status: http.StatusOK, Message: protocol.Message{Frame: x.noRoom()}}
		}
		x.state, x.verdict = exchangeDecided, v
		x.mu.Unlock()
		x.conn.poke()
	case exchangeAway:
		x.state = exchangeOver
		x.body.release()
		x.mu.Unlock()
		x.track.finish(v.parts())
	default:
		x.mu.Unlock()
	}
}

// client is whose answer it is, as far as room for it goes. A modern client has no session: what stands in its header it has
// made up, and could be another one each time.
func (x *Exchange) client() string {
	if x.Origin.SessionID != "" && !protocol.IsModern(x.Origin.Version) {
		return x.Origin.SessionID
	}
	return HostOf(x.Origin.Remote)
}

// noRoom is what a client gets whose answer has found no room; to a batch, the answer to a message without id.
func (x *Exchange) noRoom() []byte {
	if x.Batch != nil {
		return noRoomFor([]byte("null"))
	}
	return noRoomFor(x.Frame.IDBytes())
}

func (x *httpExchange) notify(msg protocol.Message, weight Weight, key string) {
	if x.Origin.JSONOnly {
		return
	}
	x.mu.Lock()
	if x.state != exchangeOpen {
		away := x.state == exchangeAway
		x.mu.Unlock()
		if away {
			x.track.deliver(msg, weight, outboxKey{key: key})
		}
		return
	}
	dropped, lost := x.queue.push(msg, weight, outboxKey{key: key})
	x.mu.Unlock()
	x.server.counters.droppedLogs.Add(uint64(dropped))
	if lost {
		x.server.counters.lostStreams.Add(1)
		x.end(true)
		x.conn.kill()
		return
	}
	x.conn.poke()
}

func (x *httpExchange) setSession(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = id
}

func (x *httpExchange) onGone(f func()) {
	x.mu.Lock()
	if x.state == exchangeOver {
		if x.left {
			go f()
		}
		x.mu.Unlock()
		return
	}
	if x.gone == nil {
		x.gone = x.goneOne[:0]
	}
	x.gone = append(x.gone, f)
	x.mu.Unlock()
	x.conn.poke() // it may be time to watch
}

// end closes the exchange once, as far as its connection goes: left, or open still, means that the client will not
// have its answer on it. It reports whether the exchange was the connection's until now.
func (x *httpExchange) end(left bool) bool {
	x.mu.Lock()
	if x.state == exchangeOver || x.state == exchangeAway {
		x.mu.Unlock()
		return false
	}
	open, gone := x.state == exchangeOpen, x.gone
	x.left = left || open
	x.state = exchangeOver
	x.body.budget.GiveAnswer(x.client(), x.verdict.counted)
	if x.track != nil {
		var last []protocol.Message
		if !x.told {
			last = x.verdict.parts()
		}
		if open {
			x.state, gone = exchangeAway, nil // no cancel: MCP 2025-11-25, basic/transports, sending messages
		}
		x.track.away(&x.queue, !open, last)
	}
	if !x.left && x.track == nil {
		x.verdict.memory.Free() // written: what is not in the kernel yet was copied. In all other cases it is left to the garbage collector
	}
	x.gone, x.verdict = nil, verdict{}
	x.queue.clear()
	if x.state == exchangeOver {
		x.body.release()
	}
	left = x.left
	x.mu.Unlock()
	if !left {
		return true
	}
	x.conn.poke()
	for _, f := range gone {
		f()
	}
	return true
}

// depart ends an exchange's connection: its client has come back on another one.
func (x *httpExchange) depart() {
	if x.end(true) {
		x.conn.kill()
	}
}

func (x *httpExchange) resumable(r *Replay) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.replay != nil || x.state == exchangeOver {
		return
	}
	if x.replay = r; x.opened { // it took the Handler longer than SSEAfter
		x.track = r.open(true, x, nil)
	}
}

func (x *httpExchange) budget() *stream.Budget { return x.body.budget }

// takeBody hands over what the request's body holds of the budget.
func (x *httpExchange) takeBody() body {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.body
	x.body.counted, x.body.lease = 0, nil
	return b
}

// nextStep is what the waiting handler finds when it looks.
type nextStep uint8

const (
	stepWait   nextStep = iota
	stepAnswer          // write it as one body
	stepStream          // something precedes the answer: open the stream
	stepLeave           // nobody waits any more
)

func (x *httpExchange) look() (found nextStep, watch bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.state == exchangeOver || x.state == exchangeAway || x.conn.killed.Load():
		return stepLeave, false
	case !x.queue.empty():
		return stepStream, false
	case x.state == exchangeDecided:
		return stepAnswer, false
	}
	return stepWait, len(x.gone) > 0
}

// await blocks the connection's goroutine until there is something to write. An answer goes out as JSON unless a
// notification comes first or SSEAfter passes. A client that somebody wants to know about is watched once its call has
// gone unanswered for watchAfter: watching every call would cost a seventh of the throughput, as measured.
func (s *Server) await(ctx *fasthttp.RequestCtx, c *serverConn, x *httpExchange) {
	mayStream := !x.Origin.JSONOnly && !x.noEarlyStream && (x.Frame.Raw != nil || x.Batch != nil)
	watched := false
	for {
		found, wanted := x.look()
		age := time.Since(x.Began)
		if found == stepWait && wanted && !watched && age >= s.watchAfter {
			watched = true
			if !c.watch(x.leave) && mayStream {
				found = stepStream // no way to watch here: notice by writing
			}
		}
		if found == stepWait && mayStream && age >= s.sseAfter {
			found = stepStream
		}
		switch found {
		case stepAnswer:
			c.unwatch()
			x.writePlain(ctx)
			return
		case stepStream:
			x.openStream(ctx)
			return
		case stepLeave:
			c.unwatch()
			c.kill()
			return
		}
		select {
		case <-c.wake:
		case <-s.nextLook(c, age, mayStream):
		}
	}
}

// nextLook arms the handler's timer for the next moment that changes anything; nil when none does.
func (s *Server) nextLook(c *serverConn, age time.Duration, mayStream bool) <-chan time.Time {
	switch {
	case age < s.watchAfter && (!mayStream || s.watchAfter < s.sseAfter):
		return c.alarm(s.watchAfter - age)
	case mayStream:
		return c.alarm(s.sseAfter - age)
	}
	return nil
}

// leave is what the watcher of the connection calls.
func (x *httpExchange) leave() { x.end(true) }

// writePlain hands the answer to fasthttp, which writes it from where it is: a large answer is not copied.
func (x *httpExchange) writePlain(ctx *fasthttp.RequestCtx) {
	x.mu.Lock()
	v, session := x.verdict, x.session
	x.body.giveLease()
	x.mu.Unlock()
	if v.status == 0 { // left in this moment: nothing more may be sent
		x.conn.kill()
		return
	}
	h := &ctx.Response.Header
	if session != "" && !v.refusal { // what was refused has opened none
		h.Set("Mcp-Session-Id", session)
	}
	if v.refusal {
		v.head(ctx)
	}
	if x.eventsOnly && !v.refusal && v.size() > 0 {
		h.SetContentType(typeEvents)
		h.Set("Cache-Control", "no-cache")
		ctx.SetStatusCode(v.status)
		ctx.Response.SetBodyRaw(appendParts(nil, v.parts()))
		return
	}
	if v.pieces != nil {
		ctx.SetStatusCode(v.status)
		ctx.SetContentType(typeJSON)
		pieces := v.pieces // v itself stays off the heap
		ctx.Response.SetBodyStream(&pieces, v.size())
		return
	}
	x.server.answer(ctx, v.status, v.body())
}

// size is how many bytes the verdict has to say.
func (v *verdict) size() int {
	n := len(v.Frame) + sizeOf(v.batch)
	for _, piece := range v.pieces {
		n += len(piece)
	}
	return n
}

// body is the verdict as one body; nil = none.
func (v *verdict) body() []byte {
	if v.batch != nil {
		return joinParts(v.batch).Frame
	}
	return v.Frame
}

// parts are the verdict as messages of a stream.
func (v *verdict) parts() []protocol.Message {
	if v.pieces != nil {
		return []protocol.Message{{Frame: slices.Concat(v.pieces...), Newline: v.Newline}}
	}
	if v.batch == nil && v.Frame != nil {
		return []protocol.Message{v.Message}
	}
	return v.batch
}
