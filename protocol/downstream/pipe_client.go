package downstream

import (
	"net/http"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// PipeClient is a client of a Handler in the same program: what it posts and opens is an HTTP exchange in all but the
// bytes. It reads when it likes, one thing at a time, and goes when it likes. Nothing but short locks is underneath and
// no goroutine, so that whoever drives it decides all that happens.
type PipeClient struct {
	Handler Handler
	Budget  *stream.Budget // of the gateway; the request's bytes and what waits for the client count
	Limit   int            // bytes that may wait for a reader that does not read; 0 = as the server does
	More    func()         // called when there may be something to see; it must not block. nil = nobody wants to know
}

func (c *PipeClient) more() {
	if c.More != nil {
		c.More()
	}
}

// Seen is what a client sees next.
type Seen struct {
	Status     int           // of the answer's head; 0 in what follows the head of a stream
	Session    string        // Mcp-Session-Id of the head
	RetryAfter time.Duration // likewise
	Stream     bool          // the head of an event stream: the rest follows
	EventID    string        // of this event; "" = none. An event may have an id and no frame
	Frame      []byte        // the message, or the body of a refusal
	Last       bool          // nothing follows
}

// PipeExchange is one POST or DELETE of a PipeClient.
type PipeExchange struct {
	Exchange
	of       *PipeClient
	body     body
	deletes  bool
	noStream bool // initialize, and what is posted to .../messages

	mu      sync.Mutex
	state   exchangeState
	verdict verdict
	session string
	queue   outboxQueue
	opened  bool // the head of a stream was seen
	primed  bool // the client has the stream's first event
	replay  *Replay
	track   *track
	gone    []func()
}

// Post sends a message and returns the exchange, or what a server would answer at once to what is no message.
func (c *PipeClient) Post(raw []byte, origin Origin) (x *PipeExchange, refused *Seen) {
	x = c.exchange(origin)
	if x.body.budget = c.Budget; !c.Budget.Take(len(raw)) {
		return nil, &Seen{Status: http.StatusServiceUnavailable, Frame: refusalBodies[refusedBudget], RetryAfter: serverRetryAfter, Last: true}
	}
	x.body.counted = len(raw)
	if answer, status := x.parse(raw); answer != nil {
		x.body.release()
		return nil, &Seen{Status: status, Frame: answer, Last: true}
	}
	x.noStream = x.Frame.M == protocol.MethodInitialize
	c.Handler.Post(&x.Exchange)
	return x, nil
}

// Delete ends the session that origin names.
func (c *PipeClient) Delete(origin Origin) *PipeExchange {
	x := c.exchange(origin)
	x.deletes = true
	c.Handler.Delete(&x.Exchange)
	return x
}

func (c *PipeClient) exchange(origin Origin) *PipeExchange {
	x := &PipeExchange{of: c}
	x.Origin, x.Began, x.port = origin, time.Now(), x
	x.queue.limit, x.queue.budget = orDefault(c.Limit, defaultMaxMessage+stream.Slack), c.Budget
	return x
}

// Next returns what the client sees next; false while there is nothing.
func (x *PipeExchange) Next() (Seen, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.state == exchangeOver || x.state == exchangeAway:
		return Seen{}, false
	case !x.opened && !x.queue.empty():
		x.open()
		return Seen{Status: http.StatusOK, Session: x.session, Stream: true}, true
	case !x.opened && x.state == exchangeDecided:
		s := x.plain()
		x.finish()
		return s, true
	case !x.opened:
		return Seen{}, false
	}
	return x.event()
}

// OpenStream has the client see the head of a stream now, as it does when the answer takes its time; false if it cannot.
func (x *PipeExchange) OpenStream() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state != exchangeOpen || x.opened || x.noStream || x.Origin.JSONOnly || x.deletes {
		return false
	}
	x.open()
	return true
}

// open turns the answer into a stream. The caller has the lock.
func (x *PipeExchange) open() {
	if x.opened = true; x.replay != nil {
		x.track = x.replay.open(true, x, nil)
	}
}

// plain is an answer that is no stream. The caller has the lock.
func (x *PipeExchange) plain() Seen {
	s := Seen{Status: x.verdict.status, RetryAfter: x.verdict.retryAfter, Frame: x.verdict.Frame, Last: true}
	if !x.verdict.refusal {
		s.Session = x.session
	}
	if x.verdict.batch != nil {
		s.Frame = joinParts(x.verdict.batch).Frame
	}
	return s
}

// event is the next thing of a stream. The caller has the lock.
func (x *PipeExchange) event() (Seen, bool) {
	if x.track != nil && !x.primed {
		x.primed = true
		return Seen{EventID: x.track.id(0)}, true
	}
	if item := x.queue.pop(); item != nil {
		return Seen{EventID: x.track.numbered(item.Message, item.weight), Frame: item.Frame}, true
	}
	if x.state != exchangeDecided {
		return Seen{}, false
	}
	parts := x.verdict.parts()
	if len(parts) == 0 { // nothing more to say
		x.finish()
		return Seen{Last: true}, true
	}
	s := Seen{EventID: x.track.numbered(parts[0], WeightAnswer), Frame: parts[0].Frame, Last: len(parts) == 1}
	if x.verdict.batch, x.verdict.Message = parts[1:], (protocol.Message{}); s.Last {
		x.track.finished()
		x.finish()
	}
	return s, true
}

// finish ends an exchange whose answer was read. The caller has the lock.
func (x *PipeExchange) finish() {
	x.state = exchangeOver
	x.budget().GiveAnswer(x.client(), x.verdict.counted)
	x.verdict, x.gone = verdict{}, nil
	x.queue.clear()
	x.body.release()
}

// Leave breaks the client's connection. A call whose stream can be resumed goes on.
func (x *PipeExchange) Leave() {
	x.mu.Lock()
	if x.state == exchangeOver || x.state == exchangeAway {
		x.mu.Unlock()
		return
	}
	open, gone := x.state == exchangeOpen, x.gone
	x.state, x.gone = exchangeOver, nil
	x.budget().GiveAnswer(x.client(), x.verdict.counted)
	if x.track != nil {
		if open {
			x.state, gone = exchangeAway, nil // no cancel: MCP 2025-11-25, basic/transports, sending messages
		}
		x.track.away(&x.queue, !open, x.verdict.parts())
	}
	x.verdict = verdict{}
	x.queue.clear()
	if x.state == exchangeOver {
		x.body.release()
	}
	x.mu.Unlock()
	for _, f := range gone {
		f()
	}
}

// Waiting is how many bytes wait for the client to read them.
func (x *PipeExchange) Waiting() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.verdict.size() + x.queue.bytes
}

// depart ends the connection: the client has come back on another one.
func (x *PipeExchange) depart() { x.Leave() }

// Over reports whether the client has nothing to expect any more on this connection.
func (x *PipeExchange) Over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == exchangeOver || x.state == exchangeAway
}

func (x *PipeExchange) decide(v verdict) {
	x.mu.Lock()
	switch x.state {
	case exchangeOpen:
		var ok bool
		if v.counted, ok = x.budget().TakeAnswer(x.client(), v.size()); !ok {
			v = verdict{status: http.StatusOK, Message: protocol.Message{Frame: x.noRoom()}}
		}
		x.state, x.verdict = exchangeDecided, v
		x.mu.Unlock()
		x.of.more()
	case exchangeAway:
		x.state = exchangeOver
		x.body.release()
		x.mu.Unlock()
		x.track.finish(v.parts())
	default:
		x.mu.Unlock()
	}
}

func (x *PipeExchange) answer(msg protocol.Message) {
	x.decide(verdict{status: http.StatusOK, Message: msg})
}

func (x *PipeExchange) answers(parts []protocol.Message) {
	x.decide(verdict{status: http.StatusOK, batch: parts})
}

func (x *PipeExchange) accept() {
	status := http.StatusAccepted
	if x.deletes {
		status = http.StatusNoContent
	}
	x.decide(verdict{status: status})
}

func (x *PipeExchange) refuse(status int, body []byte, retryAfter time.Duration) {
	x.decide(verdict{status: status, Message: protocol.Message{Frame: body}, refusal: true, retryAfter: retryAfter})
}

func (x *PipeExchange) notify(msg protocol.Message, weight Weight, key string) {
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
	_, lost := x.queue.push(msg, weight, outboxKey{key: key})
	x.mu.Unlock()
	if lost {
		x.Leave()
	}
	x.of.more()
}

func (x *PipeExchange) setSession(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = id
}

func (x *PipeExchange) onGone(f func()) {
	x.mu.Lock()
	if x.state == exchangeOpen || x.state == exchangeDecided {
		x.gone = append(x.gone, f)
		x.mu.Unlock()
		return
	}
	x.mu.Unlock()
	f()
}

func (x *PipeExchange) resumable(r *Replay) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.replay != nil || x.state == exchangeOver {
		return
	}
	if x.replay = r; x.opened {
		x.track = r.open(true, x, nil)
	}
}

func (x *PipeExchange) budget() *stream.Budget { return x.of.Budget }

func (x *PipeExchange) takeBody() body {
	x.mu.Lock()
	defer x.mu.Unlock()
	b := x.body
	x.body.counted = 0
	return b
}
