package downstream

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

func drainOutbox(q *outboxQueue) (frames []string) {
	for item := q.pop(); item != nil; item = q.pop() {
		frames = append(frames, string(item.Frame))
	}
	return frames
}

// Messages stay in order, and a state replaces the waiting state with the same owner and key.
func TestOutbox(t *testing.T) {
	type message struct {
		frame  string
		weight Weight
		owner  uint64
		key    string
	}
	tests := []struct {
		name string
		push []message
		want string
	}{
		{"in order", []message{{"a", WeightAnswer, 0, ""}, {"b", WeightLog, 0, ""}, {"c", WeightState, 0, "k"}}, "a b c"},
		{"state in its place", []message{{"a1", WeightState, 0, "a"}, {"b", WeightAnswer, 0, ""}, {"a2", WeightState, 0, "a"}}, "a2 b"},
		{"state by key", []message{{"a1", WeightState, 0, "a"}, {"b1", WeightState, 0, "b"}, {"a2", WeightState, 0, "a"}}, "a2 b1"},
		{"state by owner", []message{{"a1", WeightState, 1, "a"}, {"a2", WeightState, 2, "a"}}, "a1 a2"},
		{"answers with equal keys", []message{{"a1", WeightAnswer, 0, "a"}, {"a2", WeightAnswer, 0, "a"}}, "a1 a2"},
	}
	for _, test := range tests {
		var q outboxQueue
		for _, m := range test.push {
			if done, late := q.push(protocol.Message{Frame: []byte(m.frame)}, m.weight, outboxKey{m.owner, m.key}); done.Dropped > 0 || late {
				t.Errorf("%s: %+v, late %v", test.name, done, late)
			}
		}
		if got := strings.Join(drainOutbox(&q), " "); got != test.want || q.bytes != 0 {
			t.Errorf("%s: got %q, want %q; %d bytes left", test.name, got, test.want, q.bytes)
		}
	}
}

// A client's share of the budget limits the messages that wait for a slow reader. An error replaces an answer that
// does not fit, progress and log messages are dropped, and a server request is kept.
func TestOutboxLimits(t *testing.T) {
	budget := stream.NewBudget(4 << 20)
	q := outboxQueue{limit: 2 << 20, budget: budget}
	answer := func(id string) []byte {
		return protocol.AppendResult(nil, []byte(id), []byte(`"`+strings.Repeat("x", 600<<10)+`"`))
	}
	q.push(protocol.Message{Frame: answer("1")}, WeightAnswer, outboxKey{})
	used := budget.Used()
	q.push(protocol.Message{Frame: answer("2")}, WeightAnswer, outboxKey{}) // exceeds the share
	if done, late := q.push(protocol.Message{Frame: answer("3")}, WeightLog, outboxKey{}); done.Dropped != 1 || late {
		t.Errorf("a log message that does not fit: %+v, late %v", done, late)
	}
	question := `{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message":"` + strings.Repeat("x", 600<<10) + `"}}`
	q.push(protocol.Message{Frame: []byte(question)}, WeightAnswer, outboxKey{})
	if got := budget.Used(); got > used+int64(len(question))+1000 {
		t.Errorf("%d bytes in the budget, %d of them the first answer", got, used)
	}
	frames := drainOutbox(&q)
	if len(frames) != 3 || frames[0] != string(answer("1")) || !strings.Contains(frames[1], `"id":2,"error"`) || !strings.Contains(frames[1], "OVERLOADED") || frames[2] != question {
		t.Errorf("%d messages: %.200s", len(frames), frames)
	}
	if budget.Used() != 0 || q.bytes != 0 {
		t.Errorf("after that: budget %d, %d bytes", budget.Used(), q.bytes)
	}
	unbounded := outboxQueue{limit: 20}
	if _, lost := unbounded.push(protocol.Message{Frame: make([]byte, 30)}, WeightAnswer, outboxKey{}); lost {
		t.Error("an answer ended the stream")
	}
	if _, lost := unbounded.push(protocol.Message{Frame: make([]byte, 1)}, WeightLog, outboxKey{}); !lost {
		t.Error("the stream has not ended")
	}
}

// Errors that replace answers are limited, too: a client that keeps sending requests without reading is lost.
func TestOutboxOverdrawn(t *testing.T) {
	q := outboxQueue{budget: stream.NewBudget(1 << 20)}
	small := protocol.AppendResult(nil, []byte("1"), []byte(`{}`))
	for n := 0; ; n++ {
		if _, lost := q.push(protocol.Message{Frame: small}, WeightAnswer, outboxKey{}); lost {
			break
		}
		if q.bytes > 64<<20 {
			t.Fatalf("%d answers wait and the stream has not ended", n)
		}
	}
}

// Random operations on the queue and on a plain slice give the same messages in the same order, and all counters match.
func TestOutboxRandomScripts(t *testing.T) {
	type entry struct {
		frame  string
		weight Weight
		key    outboxKey
	}
	rapid.Check(t, func(t *rapid.T) {
		budget := stream.NewBudget(0)
		q, model, dropped := outboxQueue{budget: budget}, []entry(nil), 0
		for i := range rapid.IntRange(0, 700).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "pop") == 0 {
				item := q.pop()
				if (item == nil) != (len(model) == 0) || item != nil && string(item.Frame) != model[0].frame {
					t.Fatalf("step %d: popped %v of %v", i, item, model)
				}
				model = model[min(1, len(model)):]
				continue
			}
			e := entry{itoa(i), Weight(rapid.IntRange(0, 2).Draw(t, "weight")), outboxKey{key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")}}
			done, _ := q.push(protocol.Message{Frame: []byte(e.frame)}, e.weight, e.key)
			dropped += done.Dropped
			isLog := func(m entry) bool { return m.weight == WeightLog }
			if at := slices.IndexFunc(model, func(m entry) bool { return e.weight == WeightState && m.weight == WeightState && m.key == e.key }); at >= 0 || done.Merged {
				if at < 0 || !done.Merged {
					t.Fatalf("step %d: merged is %v, but the model has it at %d", i, done.Merged, at)
				}
				model[at] = e
				continue
			}
			if logs := len(slices.DeleteFunc(slices.Clone(model), func(m entry) bool { return !isLog(m) })); isLog(e) && logs == outboxLogs {
				model = slices.Delete(model, slices.IndexFunc(model, isLog), slices.IndexFunc(model, isLog)+1)
			}
			model = append(model, e)
		}
		bytes := 0
		for _, m := range model {
			bytes += len(m.frame)
		}
		if q.bytes != bytes || budget.Used() != int64(bytes) {
			t.Fatalf("%d bytes, budget %d, want %d", q.bytes, budget.Used(), bytes)
		}
		for i, frame := range drainOutbox(&q) {
			if frame != model[i].frame {
				t.Fatalf("rest: got %q at %d, want %v", frame, i, model)
			}
		}
		if q.bytes != 0 || budget.Used() != 0 || q.logs != 0 || q.states != nil || q.oldestLog != nil {
			t.Fatalf("not empty: %+v", q)
		}
	})
}
