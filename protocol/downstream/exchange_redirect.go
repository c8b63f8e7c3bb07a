package downstream

import (
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Redirect sends what is said in the exchange from now on to the stream, and answers the POST itself with 202
// (MCP 2024-11-05, basic/transports, HTTP with SSE). Whoever owns the exchange calls it once, before anything else.
// An HTTP status given to Refuse afterwards is lost; its body is the answer, if the message was a request.
func (x *Exchange) Redirect(stream *EventStream) {
	http := x.port
	x.port = &redirected{
		stream: stream, body: http.takeBody(), number: redirectedCount.Add(1),
		asks: x.Batch != nil || x.Frame.Kind == protocol.KindRequest,
	}
	http.accept()
}

// redirectedCount numbers redirected exchanges, so that the states of two never replace each other in a stream.
var redirectedCount atomic.Uint64

// redirected is the port of an exchange whose messages go to a stream.
type redirected struct {
	stream *EventStream
	body   body
	number uint64
	asks   bool // the client waits for an answer
	over   atomic.Bool
}

// Settle ends it; false when it has ended before.
func (r *redirected) Settle() bool {
	if r.over.Swap(true) {
		return false
	}
	r.body.release()
	return true
}

func (r *redirected) push(p protocol.Message, weight Weight, key string) {
	r.stream.out.push(p, weight, outboxKey{owner: r.number, key: key})
}

func (r *redirected) answer(msg protocol.Message) { r.answers([]protocol.Message{msg}) }

func (r *redirected) answers(parts []protocol.Message) {
	if r.Settle() {
		for _, p := range parts {
			r.push(p, WeightAnswer, "")
		}
	}
}

func (r *redirected) notify(msg protocol.Message, weight Weight, key string) {
	if !r.over.Load() {
		r.push(msg, weight, key)
	}
}

func (r *redirected) accept() { r.Settle() }

func (r *redirected) refuse(_ int, body []byte, _ time.Duration) {
	if r.Settle() && r.asks && body != nil {
		r.push(protocol.Message{Frame: body}, WeightAnswer, "")
	}
}

func (*redirected) setSession(string)        {}
func (r *redirected) onGone(f func())        { r.stream.OnGone(f) }
func (*redirected) resumable(*Replay)        {}
func (*redirected) takeBody() body           { return body{} }
func (r *redirected) budget() *stream.Budget { return r.body.budget }
