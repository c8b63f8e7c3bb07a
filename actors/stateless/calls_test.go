package stateless

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
)

// The memory of a large answer is reused after the answer is written. If several requests wait for one answer, it is written
// several times and may also be kept, so the first writer must not free the memory.
func TestSeveralWaitersShareTheMemoryOfAnAnswer(t *testing.T) {
	protocol.PoisonFreed(true)
	defer protocol.PoisonFreed(false)
	d := newStatelessScript(t, 1)
	d.step(d.request(""))
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(`{"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}`)})
	for _, msg := range d.timers {
		d.step(msg)
	}
	if len(d.states) != 1 {
		t.Fatalf("%d states were given out, want 1", len(d.states))
	}
	retry := d.request(d.states[0])
	for !bytes.Contains(retry.Exchange.Frame.Raw, []byte(`"q1"`)) { // until the retry answers q1
		retry = d.request(d.states[0])
	}
	for range 3 {
		x := *retry.Exchange
		d.step(message.StatelessRequest{Exchange: &x, State: retry.State})
	}
	text := strings.Repeat("large ", reply.LargeFrame)
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":%q}]}}`, text)
	memory := protocol.NewMemory(len(raw))
	frame := protocol.Frame{Memory: memory}
	copy(memory.Bytes(), raw)
	if err := frame.Parse(memory.Bytes()); err != nil {
		t.Fatal(err)
	}
	frame.Memory = memory
	written := 0
	for _, e := range step(d.s, d.now.Add(time.Second), message.Done{Seq: d.first(), Frame: frame}, nil) {
		if a, ok := e.Act.(reply.AnswerPieces); ok {
			written++
			if whole := bytes.Join(a.Pieces, nil); !bytes.Contains(whole, []byte(text)) || !bytes.HasPrefix(whole, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,`, a.X.Frame.IDBytes())) {
				t.Errorf("answer %d of %d bytes is %.60q", written, len(whole), whole)
			}
			a.Memory.Free() // as its writer does
		}
	}
	if written != 3 {
		t.Errorf("%d answers, want 3", written)
	}
}
