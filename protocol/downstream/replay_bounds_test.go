package downstream

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// 10 000 messages for a disconnected client: the memory is limited, progress and log messages are dropped and counted, and
// the answer is retained as long as the limits allow.
func TestReplayBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := stream.NewBudget(0)
		f := newResumeHandler(ReplayOptions{Prime: true, Events: 100, Bytes: 64 << 10, Keep: time.Minute, Budget: budget})
		connect := servePipe(t, f, Options{}, testLimits)
		c := connect()
		go c.send(postText(ping))
		x := <-f.calls
		x.Notify(protocol.Message{Frame: note("begun")}, WeightState, "progress")
		first := c.events(c.response().Body, 2)
		c.Close()
		f.departed(t, x)
		before := f.replay.Stats()
		for i := range 10_000 {
			x.Notify(protocol.Message{Frame: note("n" + strconv.Itoa(i))}, []Weight{WeightState, WeightLog}[i%2], "progress")
		}
		x.Answer(protocol.Message{Frame: []byte(pong)})
		stats := f.replay.Stats()
		if stats.Events != 100 || stats.Bytes > 64<<10 || stats.Dropped-before.Dropped < 9900 || budget.Used() != int64(stats.Bytes) {
			t.Errorf("%+v, budget %d", stats, budget.Used())
		}
		resume := func(after string) ([]string, Resumed) {
			c := connect()
			go c.send(getAfter(after))
			r := c.response()
			defer c.Close()
			return datas(c.events(r.Body, 1000)), <-f.outcomes
		}
		got, outcome := resume(first[1].id)
		if len(got) != 100 || outcome != ResumedCall || got[99] != pong || got[98] != string(note("n9999")) {
			t.Errorf("%d events, %v", len(got), outcome)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if got, outcome = resume(first[1].id); len(got) != 100 || outcome != ResumedCall {
			t.Errorf("just before they expire: %d events, %v", len(got), outcome)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if _, outcome = resume(first[1].id); outcome != ResumeGone {
			t.Errorf("after they expired: %v", outcome)
		}
		if stats := f.replay.Stats(); stats.Events+stats.Bytes+stats.Streams != 0 || budget.Used() != 0 {
			t.Errorf("%+v, budget %d", stats, budget.Used())
		}
	})
}

// An answer that is too large for the Replay, or that does not fit in the budget, is lost with its connection.
func TestReplayCannotKeep(t *testing.T) {
	for name, o := range map[string]ReplayOptions{
		"too large": {Prime: true, Bytes: 1000},
		"no budget": {Prime: true, Budget: stream.NewBudget(1000)},
	} {
		f := newResumeHandler(o)
		_, address := serve(t, f, Options{}, testLimits)
		c, x, first := f.startCall(t, address, 1)
		c.Close()
		f.departed(t, x)
		x.Answer(protocol.Message{Frame: []byte(`"` + strings.Repeat("x", 2000) + `"`)})
		if r, _ := dial(t, address).send(getAfter(first[1].id)).body(); r.StatusCode != 400 {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
		f.replay.Close()
		if used := o.Budget.Used(); used != 0 {
			t.Errorf("%s: budget: %d", name, used)
		}
	}
}

// A call that ends without an answer while its client is disconnected is forgotten once its events are dropped.
func TestReplayCallWithoutAnswer(t *testing.T) {
	f := newResumeHandler(ReplayOptions{})
	_, address := serve(t, f, Options{}, testLimits)
	c, x, _ := f.startCall(t, address, 1)
	c.Close()
	f.departed(t, x)
	x.Accept()
	x.Answer(protocol.Message{Frame: []byte(pong)})
	for _, k := range []int{droppableEvents, answerEvents} {
		for f.replay.events[k].first != nil {
			f.replay.mu.Lock()
			f.replay.drop(f.replay.events[k].first)
			f.replay.mu.Unlock()
		}
	}
	if stats := f.replay.Stats(); stats.Streams != 0 {
		t.Errorf("%+v", stats)
	}
}
