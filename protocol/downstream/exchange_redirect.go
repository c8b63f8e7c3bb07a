package downstream

import (
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Redirect sends all messages of the exchange to the stream, and answers the POST itself with 202 (MCP 2024-11-05,
// basic/transports, HTTP with SSE). The owner of the exchange calls it once, before any other method. Refuse then ignores
// the HTTP status. Its body is the answer if the message is a request or a batch.
func (x *Exchange) Redirect(stream *EventStream) {
	http := x.port
	x.port = &redirected{
		stream: stream, body: http.takeBody(), number: redirectedCount.Add(1),
		expectsAnswer: x.Batch != nil || x.Frame.Kind == protocol.KindRequest,
	}
	http.accept()
}

// redirectedCount numbers redirected exchanges. State messages of two exchanges must not replace each other in a stream.
var redirectedCount atomic.Uint64

// redirected is the port of an exchange whose messages go to a stream.
type redirected struct {
	stream *EventStream
	body   body
	number uint64
	over   atomic.Bool

	expectsAnswer bool // the message is a request or a batch
}

// settle ends the exchange. It returns false if the exchange had already ended.
func (r *redirected) settle() bool {
	if r.over.Swap(true) {
		return false
	}
	r.body.release()
	return true
}

func (r *redirected) push(p protocol.Message, weight Weight, key string) Queued {
	return r.stream.out.push(p, weight, outboxKey{owner: r.number, key: key})
}

func (r *redirected) answer(msg protocol.Message) { r.answers([]protocol.Message{msg}) }

func (r *redirected) answers(parts []protocol.Message) {
	if r.settle() {
		for _, p := range parts {
			r.push(p, WeightAnswer, "")
		}
	}
}

func (r *redirected) notify(msg protocol.Message, weight Weight, key string) Queued {
	if r.over.Load() {
		return Queued{Over: true}
	}
	return r.push(msg, weight, key)
}

func (r *redirected) accept() { r.settle() }

func (r *redirected) refuse(_ int, body []byte, _ time.Duration) {
	if r.settle() && r.expectsAnswer && body != nil {
		r.push(protocol.Message{Frame: body}, WeightAnswer, "")
	}
}

func (*redirected) setSession(string)        {}
func (r *redirected) onGone(f func())        { r.stream.OnGone(f) }
func (*redirected) resumable(*Replay)        {}
func (*redirected) unsent() int              { return 0 } // they wait in the stream
func (*redirected) takeBody() body           { return body{} }
func (r *redirected) budget() *stream.Budget { return r.body.budget }
