package transport

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drainOutbox(q *outboxQueue) (frames []string) {
	for item := q.pop(); item != nil; item = q.pop() {
		frames = append(frames, string(item.frame))
	}
	return frames
}

// architecture.md section 3: answers are never dropped, state is replaced by its key, the oldest log goes.
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
			if dropped, lost := q.push([]byte(m.frame), false, m.weight, outboxKey{m.owner, m.key}); dropped > 0 || lost {
				t.Errorf("%s: dropped %d, lost %v", test.name, dropped, lost)
			}
		}
		if got := strings.Join(drainOutbox(&q), " "); got != test.want || q.bytes != 0 {
			t.Errorf("%s: got %q, want %q; %d bytes left", test.name, got, test.want, q.bytes)
		}
	}
}

func TestOutboxLimits(t *testing.T) {
	budget := NewBudget(10)
	q := outboxQueue{limit: 20, budget: budget}
	if _, lost := q.push(make([]byte, 8), false, WeightAnswer, outboxKey{}); lost || budget.Used() != 8 {
		t.Errorf("lost %v, budget %d", lost, budget.Used())
	}
	if _, lost := q.push(make([]byte, 30), false, WeightAnswer, outboxKey{}); lost || budget.Used() != 8 {
		t.Errorf("an answer is taken without budget or room: lost %v, budget %d", lost, budget.Used())
	}
	if _, lost := q.push(make([]byte, 1), false, WeightLog, outboxKey{}); !lost {
		t.Error("the reader is lost")
	}
	if q.clear(); budget.Used() != 0 || q.bytes != 0 || !q.empty() {
		t.Errorf("after clear: budget %d, %d bytes", budget.Used(), q.bytes)
	}
}

// Against a plain slice: same messages in the same order whatever is pushed and popped, and all books are right.
func TestOutboxRandomScripts(t *testing.T) {
	type entry struct {
		frame  string
		weight Weight
		key    outboxKey
	}
	rapid.Check(t, func(t *rapid.T) {
		budget := NewBudget(0)
		q, model, dropped := outboxQueue{budget: budget}, []entry(nil), 0
		for i := range rapid.IntRange(0, 700).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "pop") == 0 {
				item := q.pop()
				if (item == nil) != (len(model) == 0) || item != nil && string(item.frame) != model[0].frame {
					t.Fatalf("step %d: popped %v of %v", i, item, model)
				}
				model = model[min(1, len(model)):]
				continue
			}
			e := entry{itoa(i), Weight(rapid.IntRange(0, 2).Draw(t, "weight")), outboxKey{key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")}}
			n, _ := q.push([]byte(e.frame), false, e.weight, e.key)
			dropped += n
			isLog := func(m entry) bool { return m.weight == WeightLog }
			if at := slices.IndexFunc(model, func(m entry) bool { return e.weight == WeightState && m.weight == WeightState && m.key == e.key }); at >= 0 {
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
