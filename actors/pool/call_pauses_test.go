package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// refuse429 ends a call that the server refused with HTTP 429, and returns the timers that start.
func (w *world) refuse429(seq uint64, pause time.Duration) (timers []kernel.Wake) {
	at := w.sent[seq]
	delete(w.sent, seq)
	return w.wakes(message.CallEnded{Backend: at, Call: message.CallRef{Seq: seq}, Pause: pause})
}

// wakes applies a message and returns the pause timers that it starts.
func (w *world) wakes(msg any) (timers []kernel.Wake) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.Send:
			w.sent[m.Call.Seq] = e.To
		case message.Failed:
			w.failed[m.Seq] = m.Fault
		}
		if wake, ok := e.Act.(kernel.Wake); ok {
			if _, is := wake.Msg.(pauseDue); is {
				timers = append(timers, wake)
			}
		}
	}
	return timers
}

// After HTTP 429 (Too Many Requests) nothing is sent to the server until the pause is over. Then the calls that waited are
// sent.
func TestPauseAfterTooManyRequests(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	timers := w.refuse429(0, 7*time.Second)
	if len(timers) != 1 || timers[0].After != 7*time.Second {
		t.Fatalf("timers %v, want one of 7s", timers)
	}
	w.dispatch(1)
	w.now = w.now.Add(7*time.Second - 1)
	w.dispatch(2)
	if len(w.sent) != 0 || len(w.failed) != 0 || w.s.calls.queue.len() != 2 {
		t.Fatalf("during the pause: %d sent, %d failed, %d queued; want 0, 0, 2", len(w.sent), len(w.failed), w.s.calls.queue.len())
	}
	w.now = w.now.Add(1)
	if again := w.wakes(timers[0].Msg); len(again) != 0 || len(w.sent) != 2 || len(w.s.calls.pauses.until) != 0 {
		t.Fatalf("after the pause: timers %v, %d sent, %d pauses; want none, 2, 0", again, len(w.sent), len(w.s.calls.pauses.until))
	}
	w.dispatch(3)
	if len(w.sent) != 3 {
		t.Error("a call after the pause was not sent")
	}
}

// A longer pause replaces a shorter one, and the timer of the shorter one is ignored.
func TestPauseIsExtended(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	for seq := range uint64(3) {
		w.dispatch(seq)
	}
	first := w.refuse429(0, 2*time.Second)
	second := w.refuse429(1, 5*time.Second)
	if shorter := w.refuse429(2, time.Second); len(first) != 1 || len(second) != 1 || len(shorter) != 0 {
		t.Fatalf("timers %v, %v, %v; want one, one, none", first, second, shorter)
	}
	w.dispatch(3)
	w.now = w.now.Add(2 * time.Second)
	w.wakes(first[0].Msg)
	if len(w.sent) != 0 {
		t.Fatal("the timer of the shorter pause ended the longer one")
	}
	w.now = w.now.Add(3 * time.Second)
	w.wakes(second[0].Msg)
	if len(w.sent) != 1 {
		t.Error("the call was not sent after the longer pause")
	}
}

// A call whose deadline comes before the end of the pause is refused at once. The error says when the pause ends.
func TestPauseLongerThanACallMayWait(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.refuse429(0, time.Hour) // cut to longestPause
	w.now = w.now.Add(time.Second)
	w.dispatch(1)
	f := w.fault(1, protocol.RateLimited)
	const want = "server fake answered HTTP 429 (Too Many Requests) to an earlier request; this one was not sent; retry after 4m59s"
	if f.Message != want || !f.Retryable || f.RetryAfter != longestPause-time.Second {
		t.Errorf("got %q, retryable %v, after %v; want %q", f.Message, f.Retryable, f.RetryAfter, want)
	}
}

// A call whose queue deadline passes during a pause fails with an error about the pause.
func TestQueueEndsDuringAPause(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.dispatch(0)
	w.dispatch(1)
	w.refuse429(0, 9*time.Second)
	w.dispatch(2)
	w.refuse429(1, 30*time.Second)
	w.now = w.now.Add(queue.Timeout)
	w.step(w.expire[len(w.expire)-1])
	if f := w.fault(2, protocol.RateLimited); f.RetryAfter != 20*time.Second {
		t.Errorf("retry after %v, want 20s", f.RetryAfter)
	}
}

// A pause of one replica does not affect the others.
func TestPauseOfOneReplica(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.phase(0, message.Ready)
	w.phase(1, message.Ready)
	w.dispatch(0)
	paused := w.sent[0]
	w.refuse429(0, time.Minute)
	for seq := uint64(1); seq < 4; seq++ {
		w.dispatch(seq)
		if at, sent := w.sent[seq]; !sent || at == paused {
			t.Fatalf("call %d: sent %v to %v, want the other replica", seq, sent, at)
		}
	}
}
