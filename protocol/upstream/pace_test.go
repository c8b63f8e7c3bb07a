package upstream

import (
	"testing"
	"time"

	"goblin-actor/protocol"
)

// What a server says unasked holds its reader back when it comes fast, the more the later pauses end; answers never do.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1000, 0)
	say := func(n, size int, each time.Duration) (paused int, longest time.Duration) {
		for range n {
			now = now.Add(each)
			if d := p.due(now, size); d > 0 {
				paused++
				longest = max(longest, d)
			}
		}
		return paused, longest
	}
	if n, _ := say(16*paceMessages, 100, 2*time.Millisecond); n != 0 {
		t.Errorf("a server that says something every 2 ms pauses %d times", n)
	}
	if n, d := say(10*paceMessages, 100, time.Microsecond); n != 10 || d != paceLeast {
		t.Errorf("a flood of small messages pauses %d times, %v at most", n, d)
	}
	if n, _ := say(10, paceBytes, time.Microsecond); n != 10 {
		t.Errorf("10 large messages pause %d times", n)
	}
	for range 20 {
		p.woke(time.Millisecond)
		if _, d := say(paceMessages, 100, time.Microsecond); d > paceMost {
			t.Fatalf("a pause of %v", d)
		}
	}
	if _, d := say(paceMessages, 100, time.Microsecond); d != paceMost {
		t.Errorf("when pauses end late they last %v", d)
	}
	for range 20 {
		p.woke(0)
	}
	if _, d := say(paceMessages, 100, time.Microsecond); d != paceLeast {
		t.Errorf("when they end in time again they last %v", d)
	}
	if n, _ := say(paceMessages, 100, 2*time.Millisecond); n != 0 || p.pause != 0 {
		t.Errorf("a server that has calmed down: %d pauses, the next of %v", n, p.pause)
	}
	var result, said protocol.Frame
	if result.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)) != nil || said.Parse([]byte(`{"jsonrpc":"2.0","method":"x"}`)) != nil {
		t.Fatal("test frames")
	}
	if unasked(Received{Frame: result}) > 0 || unasked(Ended{}) > 0 || unasked(Received{Frame: said}) == 0 || unasked(Noise{}) == 0 || unasked(Stderr{}) == 0 {
		t.Error("what is unasked is not what is counted")
	}
}
