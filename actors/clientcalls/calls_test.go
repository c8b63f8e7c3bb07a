package clientcalls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// testHolder is a holder that records in said what it would write to its client.
type testHolder struct {
	calls Calls[*Held, string, int]
	said  []string
}

func newTestHolder() *testHolder {
	h := &testHolder{}
	h.calls = New[*Held, string](h, kernel.Reference{})
	return h
}

func (h *testHolder) say(out []kernel.Effect, format string, args ...any) []kernel.Effect {
	h.said = append(h.said, fmt.Sprintf(format, args...))
	return out
}

func (*testHolder) CallName(seq uint64) string { return fmt.Sprint("call/", seq) }

func (h *testHolder) Answered(now time.Time, c *Held, m message.Done, out []kernel.Effect) []kernel.Effect {
	return h.calls.Apply(now, c.Seq, call.Answered{Frame: m.Frame}, h.say(out, "answered"))
}

func (*testHolder) Intercept(c *Held, _ *call.Effect, out []kernel.Effect) ([]kernel.Effect, bool) {
	return out, c.Item == "intercepted"
}

func (h *testHolder) Deliver(_ time.Time, _ *Held, _ *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "delivered")
}

func (h *testHolder) Fail(_ time.Time, _ *Held, fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "failed %s", fault.Name)
}

func (h *testHolder) Withdrawn(_ *Held, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "withdrawn")
}

func (h *testHolder) Ending(c *Held, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "ending %v", h.calls.Held(c.Seq) != nil)
}

func (h *testHolder) Ended(c *Held, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "ended %v", h.calls.Held(c.Seq) != nil)
}

func (h *testHolder) Progress(_ time.Time, _ *Held, _ message.Progress, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "progress")
}

func (h *testHolder) LogLine(_ time.Time, _ *Held, _ message.Log, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "log line")
}

func (h *testHolder) ServerRequest(_ time.Time, _ *Held, _ message.ServerRequest, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "question")
}

func (h *testHolder) QuestionCanceled(_ time.Time, _ *Held, _ message.ServerRequestCanceled, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "question canceled")
}

func (h *testHolder) Repeat(_ time.Time, request int, out []kernel.Effect) []kernel.Effect {
	return h.say(out, "repeat %d, retrying %v", request, h.calls.Retrying())
}

func (h *testHolder) AuditWritten(out []kernel.Effect) []kernel.Effect {
	return h.say(out, "written")
}

// begin begins a tool call and returns it.
func (h *testHolder) begin(t *testing.T, limits call.Limits) *Held {
	t.Helper()
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
	c := &Held{Upstream: &catalog.Server{Name: "one", Rules: config.DefaultServer()}, Call: call.Call{
		Seq: h.calls.Next(), Server: "one", Item: "t", Method: protocol.MethodToolsCall, State: call.Queued, Began: start, Limits: limits}}
	h.calls.Begin(start, c, x, "", nil, &message.Request{Caller: new(message.Caller)}, nil)
	return c
}

func TestCallsStep(t *testing.T) {
	result := protocol.Frame{}
	if err := result.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		msg  any
		want string
		left int // calls
	}{
		{"written", message.RequestWritten{Seq: 1}, "", 1},
		{"answer", message.Done{Seq: 1, Frame: result}, "answered, ending true, delivered, ended false", 0},
		{"answer to no call", message.Done{Seq: 2, Frame: result}, "", 1},
		{"failure", message.Failed{Seq: 1, Fault: &protocol.Fault{Name: protocol.Timeout}}, "ending true, failed TIMEOUT, ended false", 0},
		{"progress", message.Progress{Seq: 1}, "progress", 1},
		{"progress of no call", message.Progress{Seq: 2}, "", 1},
		{"log line", message.Log{Seq: 1}, "log line", 1},
		{"log line of no call", message.Log{Seq: 2}, "", 1},
		{"question", message.ServerRequest{Seq: 1}, "question", 1},
		{"question of no call", message.ServerRequest{Seq: 2}, "", 1},
		{"canceled question", message.ServerRequestCanceled{Seq: 1}, "question canceled", 1},
		{"canceled question of no call", message.ServerRequestCanceled{Seq: 2}, "", 1},
		{"abort", message.Abort{Seq: 1}, "ending true, failed INTERNAL_ERROR, ended false", 0},
		{"abort of no call", message.Abort{Seq: 2}, "", 1},
		{"audit log", auditWritten{}, "written", 1},
	} {
		h := newTestHolder()
		h.begin(t, call.Limits{})
		h.calls.unsent = 1
		_, handled := h.calls.Step(start, test.msg, nil)
		if got := strings.Join(h.said, ", "); got != test.want || !handled || h.calls.Len() != test.left {
			t.Errorf("%s: %q (handled: %v), %d calls left; want %q, %d", test.name, got, handled, h.calls.Len(), test.want, test.left)
		}
	}
	if _, handled := newTestHolder().calls.Step(start, message.Published{}, nil); handled {
		t.Error("a message about the catalog is handled")
	}
}

// A call is written before it is answered, even if its holder learns of the answer first.
func TestCallIsWrittenBeforeItsAnswer(t *testing.T) {
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for _, test := range []struct {
		name                   string
		written, answered      int // when the holder learns that the call was written, and when the answer arrived
		wantSent, wantAnswered int
	}{{"in order", 1, 5, 1, 5}, {"a busy holder", 7, 5, 5, 5}} {
		h := newTestHolder()
		c := h.begin(t, call.Limits{})
		h.calls.Step(at(test.written), message.RequestWritten{Seq: 1}, nil)
		h.calls.Step(at(9), message.Done{Seq: 1, At: at(test.answered)}, nil)
		if !c.Sent.Equal(at(test.wantSent)) || !c.Answered.Equal(at(test.wantAnswered)) {
			t.Errorf("%s: written at %v, answered at %v", test.name, c.Sent.Sub(start), c.Answered.Sub(start))
		}
	}
}

// A call has left the queue before it is written, even if a server has asked about it first, and another connection then wrote it.
func TestCallLeavesTheQueueBeforeItIsWritten(t *testing.T) {
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for _, test := range []struct {
		name                    string
		asked, taken, written   int // asked: when the server asked before the call was written; 0 = it did not
		again                   int // when the call left the queue for the second time; 0 = never
		wantTaken, wantSentAtMS int
	}{{"in order", 0, 1, 2, 0, 1, 2}, {"sent again", 0, 1, 2, 7, 1, 2}, {"asked before", 3, 5, 6, 0, 3, 3}} {
		h := newTestHolder()
		c := h.begin(t, call.Limits{})
		if test.asked > 0 {
			h.calls.Apply(at(test.asked), 1, call.Asked{}, nil)
		}
		h.calls.Step(at(test.written), message.RequestWritten{Seq: 1, Taken: at(test.taken)}, nil)
		if test.again > 0 {
			h.calls.Step(at(test.again), message.RequestWritten{Seq: 1, Taken: at(test.again)}, nil)
		}
		if !c.Taken.Equal(at(test.wantTaken)) || !c.Sent.Equal(at(test.wantSentAtMS)) {
			t.Errorf("%s: left the queue at %v, written at %v", test.name, c.Taken.Sub(start), c.Sent.Sub(start))
		}
	}
}

// Every call ends at its deadline, and the timer is then set for the next deadline.
func TestCallsEndAtTheirDeadlines(t *testing.T) {
	h := newTestHolder()
	for _, idle := range []time.Duration{2 * time.Minute, time.Minute, 3 * time.Minute} {
		h.begin(t, call.Limits{Idle: idle})
		h.calls.Step(start, message.RequestWritten{Seq: h.calls.Last()}, nil)
	}
	for minute, left := range []int{3, 2, 1, 0} {
		h.calls.Step(start.Add(time.Duration(minute)*time.Minute-1), h.calls.Timer(), nil)
		if want := left + min(1, minute); h.calls.Len() != want {
			t.Errorf("a nanosecond before minute %d: %d calls, want %d", minute, h.calls.Len(), want)
		}
		h.calls.Step(start.Add(time.Duration(minute)*time.Minute), h.calls.Timer(), nil)
		if h.calls.Len() != left {
			t.Errorf("in minute %d: %d calls, want %d", minute, h.calls.Len(), left)
		}
	}
	if !h.calls.clock.fires.IsZero() {
		t.Error("the timer runs without a call")
	}
}

func TestCallsIndex(t *testing.T) {
	h := newTestHolder()
	h.calls.Index("a", 1)
	h.calls.Index("b", 2)
	h.calls.Unindex("a", 2) // the key belongs to another call by now
	if seq, ok := h.calls.Find("a"); !ok || seq != 1 || h.calls.Indexed() != 2 {
		t.Errorf("a is call %d (%v), %d are found", seq, ok, h.calls.Indexed())
	}
	h.calls.Unindex("a", 1)
	if seq, ok := h.calls.Find("a"); ok {
		t.Errorf("a is call %d still", seq)
	}
}

// Call numbers are never reused, because calls, lookups and other requests share one sequence of numbers.
func TestCallsNumbers(t *testing.T) {
	h := newTestHolder()
	seen := map[uint64]bool{}
	for range 1000 {
		n := h.calls.Next()
		if n == 0 || seen[n] || n != h.calls.Last() {
			t.Fatalf("number %d is given after %d others", n, len(seen))
		}
		seen[n] = true
	}
}

func TestEndAllEndsTheCallsThatMatch(t *testing.T) {
	h := newTestHolder()
	for range 4 {
		h.begin(t, call.Limits{})
	}
	shared := &protocol.Fault{Name: protocol.ShuttingDown, Retryable: true}
	out := h.calls.EndAll(start, func(c *Held) bool { return c.Seq%2 == 0 }, "why", shared, nil)
	canceled := ""
	for _, e := range out {
		if m, ok := e.Msg.(message.Cancel); ok {
			canceled += fmt.Sprintf("%d %s %v, ", m.Call.Seq, m.Reason, m.TimedOut)
		}
	}
	if canceled != "2 why false, 4 why false, " {
		t.Errorf("canceled: %q", canceled)
	}
	if n := h.calls.Numbers(); len(n) != 2 || n[0] != 1 || n[1] != 3 {
		t.Errorf("calls %v are left, want 1 and 3", n)
	}
	if !shared.Retryable || shared.Server != "" {
		t.Error("the shared fault was modified")
	}
}

// A holder is busy while it holds a call. After the call has ended without a reply that waits for the audit log, the
// holder is not busy, even under sync "each".
func TestCallsAreBusyUntilTheAuditLogIsWritten(t *testing.T) {
	for _, each := range []bool{false, true} {
		h := newTestHolder()
		flags := audit.On
		if each {
			flags |= audit.Each
		}
		h.calls.SetAudit(flags)
		h.begin(t, call.Limits{})
		if !h.calls.Busy() {
			t.Error("a call is held, and the holder is not busy")
		}
		h.calls.Step(start, message.Failed{Seq: 1, Fault: &protocol.Fault{Name: protocol.Timeout}}, nil)
		if h.calls.Busy() { // the test's holder sends no replies
			t.Errorf("each: %v: busy without replies", each)
		}
	}
}
