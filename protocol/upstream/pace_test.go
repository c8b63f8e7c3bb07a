package upstream

import (
	"testing"
	"time"

	"goblin-actor/protocol"
)

// A flood of unsolicited messages makes the reader pause, longer while pauses end late. Responses never do.
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
		t.Errorf("with a message every 2 ms, the reader pauses %d times", n)
	}
	if n, d := say(10*paceMessages, 100, time.Microsecond); n != 10 || d != paceLeast {
		t.Errorf("a flood of small messages: %d pauses of up to %v", n, d)
	}
	if n, _ := say(10, paceBytes, time.Microsecond); n != 10 {
		t.Errorf("10 large messages: %d pauses", n)
	}
	for range 20 {
		p.woke(time.Millisecond)
		if _, d := say(paceMessages, 100, time.Microsecond); d > paceMost {
			t.Fatalf("pause of %v, want at most %v", d, paceMost)
		}
	}
	if _, d := say(paceMessages, 100, time.Microsecond); d != paceMost {
		t.Errorf("after pauses that ended late: pause of %v", d)
	}
	for range 20 {
		p.woke(0)
	}
	if _, d := say(paceMessages, 100, time.Microsecond); d != paceLeast {
		t.Errorf("after pauses that ended on time: pause of %v", d)
	}
	if n, _ := say(paceMessages, 100, 2*time.Millisecond); n != 0 || p.pause != 0 {
		t.Errorf("after the flood: %d pauses, the next of %v", n, p.pause)
	}
	var result, said protocol.Frame
	if result.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)) != nil || said.Parse([]byte(`{"jsonrpc":"2.0","method":"x"}`)) != nil {
		t.Fatal("invalid test frames")
	}
	if unsolicited(Received{Frame: result}) > 0 || unsolicited(Ended{}) > 0 || unsolicited(Received{Frame: said}) == 0 || unsolicited(Noise{}) == 0 || unsolicited(Stderr{}) == 0 {
		t.Error("unsolicited counts the wrong events")
	}
}
