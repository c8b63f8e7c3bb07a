package downstream

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Split returns the messages of a batch as separate exchanges (MCP 2025-03-26, basic, batching). Their answers are
// collected into one array, in the order in which they are given. If there are none, the response is a 202. If the Handler
// calls Notify before all answers are given, the response becomes an event stream, unless Origin.JSONOnly is set or the
// client uses stdio. A message with invalid params is not returned; if it is a request, it is answered at once.
//
// An error means that the body is not a valid batch; the caller must then refuse x with 400.
func (x *Exchange) Split() ([]*Exchange, error) {
	b := &batch{whole: x}
	var members []*Exchange
	err := protocol.ParseBatch(x.Batch, func(f *protocol.Frame) error {
		member := &Exchange{Frame: *f, Origin: x.Origin, Began: x.Began}
		member.port = &batchMember{batch: b, number: len(members), isRequest: f.Kind == protocol.KindRequest}
		members = append(members, member)
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.open = len(members)
	good := members[:0]
	for _, member := range members {
		if answer, _ := member.scanParams(); answer != nil {
			member.Refuse(http.StatusBadRequest, answer, 0)
			continue
		}
		member.Report.Traceparent, member.Report.Tracestate = x.Report.Traceparent, x.Report.Tracestate
		member.Observe(x.observed.by) // not earlier: the observer reads the params
		good = append(good, member)
	}
	return good, nil
}

// batch collects the answers to its members.
type batch struct {
	whole *Exchange

	mu        sync.Mutex
	open      int                // number of members that have not ended
	answers   []protocol.Message // not passed to whole yet
	streaming bool               // whole is a stream: answers are passed on one by one
	counted   int                // bytes of answers taken from the budget
}

// settle ends a member with its answer, whose frame may be nil.
func (b *batch) settle(p protocol.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.Frame != nil {
		if !b.whole.port.budget().Admits(b.counted, len(p.Frame)) {
			p.Frame, _ = noRoom(p.Frame)
		}
		if b.answers = append(b.answers, p); b.whole.port.budget().Take(len(p.Frame)) {
			b.counted += len(p.Frame)
		}
	}
	b.open--
	switch {
	case b.open == 0 && len(b.answers) == 0:
		b.whole.Accept()
	case b.open == 0:
		b.release()
		b.whole.port.answers(b.answers)
	case b.streaming:
		b.flush()
	}
}

// release returns the bytes to the budget, because whole counts the answers from now on. The caller must hold mu.
func (b *batch) release() {
	b.whole.port.budget().Give(b.counted)
	b.counted = 0
}

// flush sends the answers collected so far as events of the stream. The caller must hold mu.
func (b *batch) flush() {
	b.release()
	for _, p := range b.answers {
		b.whole.Notify(p, WeightAnswer, "")
	}
	b.answers = nil
}

func (b *batch) notify(p protocol.Message, weight Weight, key string) Queued {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.streaming && !b.whole.Origin.JSONOnly && b.whole.Origin.Remote != stdioRemote {
		b.streaming = true
		b.flush()
	}
	return b.whole.Notify(p, weight, key)
}

// batchMember is the port of one message of a batch.
type batchMember struct {
	batch     *batch
	number    int
	isRequest bool
	settled   sync.Once
}

func (m *batchMember) end(p protocol.Message) { m.settled.Do(func() { m.batch.settle(p) }) }

func (m *batchMember) answer(msg protocol.Message) { m.end(msg) }

func (m *batchMember) answers(parts []protocol.Message) {
	m.end(joinParts(parts))
}

func (m *batchMember) accept() { m.end(protocol.Message{}) }

// refuse answers a request with the body. A refused notification or response is not answered.
func (m *batchMember) refuse(_ int, body []byte, _ time.Duration) {
	if !m.isRequest {
		body = nil
	}
	m.end(protocol.Message{Frame: body})
}

// notify adds the member's number to the key, so that state messages of two members do not replace each other.
func (m *batchMember) notify(msg protocol.Message, weight Weight, key string) Queued {
	if weight == WeightState || weight == WeightProgress {
		key += "\x00" + strconv.Itoa(m.number)
	}
	return m.batch.notify(msg, weight, key)
}

func (m *batchMember) setSession(id string)   { m.batch.whole.SetSession(id) }
func (m *batchMember) onGone(f func())        { m.batch.whole.OnGone(f) }
func (m *batchMember) resumable(r *Replay)    { m.batch.whole.Resumable(r) }
func (*batchMember) takeBody() body           { return body{} }
func (*batchMember) unsent() int              { return 0 } // the members share what waits
func (m *batchMember) budget() *stream.Budget { return m.batch.whole.port.budget() }
