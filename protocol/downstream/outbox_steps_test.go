package downstream

import (
	"fmt"
	"testing"

	"goblin-actor/protocol"
)

// Every step of progress that a reader takes in time arrives; of more than 32 that wait the last is the newest.
func TestProgressWaits(t *testing.T) {
	var q outboxQueue
	key := outboxKey{key: "progress"}
	for i := range 3 {
		q.push(protocol.Message{Frame: []byte(fmt.Sprint(i))}, WeightProgress, key)
	}
	for i := range 3 {
		if got := string(q.pop().Frame); got != fmt.Sprint(i) {
			t.Errorf("step %d: got %s", i, got)
		}
	}
	for i := range 100 {
		q.push(protocol.Message{Frame: []byte(fmt.Sprint(i))}, WeightProgress, key)
	}
	n, last := 0, ""
	for !q.empty() {
		n, last = n+1, string(q.pop().Frame)
	}
	if n != outboxSteps || last != "99" || len(q.steps) != 0 || len(q.states) != 0 {
		t.Errorf("%d waited, the last was %s, %d and %d left in the books; want %d, 99, none", n, last, len(q.steps), len(q.states), outboxSteps)
	}
}
