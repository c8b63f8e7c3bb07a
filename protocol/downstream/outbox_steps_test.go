package downstream

import (
	"fmt"
	"testing"

	"goblin-actor/protocol"
)

// A fast enough reader gets every progress message. If more than 32 would wait, the newest replaces the last waiting message.
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
		t.Errorf("popped %d messages, the last %s, and the maps hold %d and %d; want %d, 99, 0 and 0", n, last, len(q.steps), len(q.states), outboxSteps)
	}
}
