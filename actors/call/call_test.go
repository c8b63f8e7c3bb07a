package call

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func kinds(effects []Effect) []EffectKind {
	var k []EffectKind
	for _, e := range effects {
		k = append(k, e.Kind)
	}
	return k
}

type at struct {
	after time.Duration
	event any
	want  []EffectKind
}

func TestStep(t *testing.T) {
	limits := Limits{Idle: 30 * time.Second, Absolute: 50 * time.Second, Parked: 10 * time.Minute}
	tests := []struct {
		name  string
		token string
		steps []at
	}{
		{"answer", "", []at{{0, Sent{}, nil}, {1, Answered{}, []EffectKind{Deliver}}, {2, Answered{}, nil}, {time.Hour, Tick{}, nil}}},
		{"answered before it is reported as sent", "", []at{{0, Answered{}, []EffectKind{Deliver}}, {1, Sent{}, nil}}},
		{"broken while queued", "", []at{{0, Broken{}, []EffectKind{Fail}}, {1, Answered{}, nil}}},
		// S2.6.1: the request is canceled at the server and the client gets a timeout error.
		{"idle timeout, to the nanosecond", "", []at{
			{0, Sent{}, nil}, {30*time.Second - 1, Tick{}, nil},
			{30 * time.Second, Tick{}, []EffectKind{Cancel, Fail}}, {time.Hour, Tick{}, nil}, {time.Hour, Answered{}, nil}}},
		{"no timeout while queued", "", []at{{time.Hour, Tick{}, nil}}},
		{"progress without token only resets the idle timeout", "", []at{
			{0, Sent{}, nil}, {29 * time.Second, Heard{}, nil}, {45 * time.Second, Tick{}, nil}}},
		{"progress with token is forwarded", "7", []at{{0, Sent{}, nil}, {1, Heard{}, []EffectKind{Forward}}}},
		{"progress that the client knows only resets the idle timeout", "7", []at{
			{0, Sent{}, nil}, {29 * time.Second, Heard{Behind: true}, nil}, {45 * time.Second, Tick{}, nil}}},
		{"absolute timeout despite progress", "7", []at{
			{0, Sent{}, nil}, {25 * time.Second, Heard{}, []EffectKind{Forward}},
			{49 * time.Second, Heard{}, []EffectKind{Forward}}, {50*time.Second - 1, Tick{}, nil},
			{50 * time.Second, Tick{}, []EffectKind{Cancel, Fail}}}},
		{"canceled by the client", "", []at{{0, Sent{}, nil}, {1, Withdrawn{}, []EffectKind{Cancel, Forget}}, {2, Answered{}, nil}}},
		{"the timeouts stop while a server request is open", "", []at{
			{0, Sent{}, nil}, {20 * time.Second, Asked{}, nil}, {21 * time.Second, Asked{}, nil}, {50 * time.Second, Tick{}, nil},
			{60 * time.Second, Replied{}, nil}, {61 * time.Second, Tick{}, nil}, {70 * time.Second, Replied{}, nil},
			{100*time.Second - 1, Tick{}, nil}, {100 * time.Second, Tick{}, []EffectKind{Cancel, Fail}}}},
		{"a server request without an answer", "", []at{
			{0, Sent{}, nil}, {time.Second, Asked{}, nil}, {time.Second + 10*time.Minute - 1, Tick{}, nil},
			{time.Second + 10*time.Minute, Tick{}, []EffectKind{Cancel, Fail}}}},
		{"a server request before the call is reported as sent", "", []at{
			{0, Asked{}, nil}, {time.Second, Sent{}, nil}, {2 * time.Second, Replied{}, nil}, {32*time.Second - 1, Tick{}, nil},
			{32 * time.Second, Tick{}, []EffectKind{Cancel, Fail}}}},
		{"log line", "", []at{{0, Logged{}, []EffectKind{Forward}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Call{Seq: 1, State: Queued, Limits: limits, Method: protocol.MethodToolsCall}
			if test.token != "" {
				c.Token = []byte(test.token)
			}
			for i, s := range test.steps {
				got := kinds(c.Step(start.Add(s.after), s.event, nil))
				if len(got) != len(s.want) {
					t.Fatalf("step %d (%T): got %v, want %v", i, s.event, got, s.want)
				}
				for j := range got {
					if got[j] != s.want[j] {
						t.Fatalf("step %d (%T): got %v, want %v", i, s.event, got, s.want)
					}
				}
			}
		})
	}
}

func TestNoLimitsNoDeadline(t *testing.T) {
	c := &Call{State: Queued}
	c.Step(start, Sent{}, nil)
	if d := c.Deadline(); !d.IsZero() {
		t.Fatalf("Deadline() = %v, want none", d)
	}
}

// A request that the server's process never reads ends after the sum of its queue and idle timeouts.
func TestRequestIsNeverRead(t *testing.T) {
	c := &Call{Seq: 1, State: Queued, Began: start, Limits: Limits{Queue: 10 * time.Second, Idle: 30 * time.Second}, Method: protocol.MethodToolsCall}
	if got := c.Step(start.Add(40*time.Second-1), Tick{}, nil); len(got) != 0 {
		t.Errorf("a nanosecond before the deadline: %v", kinds(got))
	}
	out := c.Step(start.Add(40*time.Second), Tick{}, nil)
	if len(out) != 2 || out[0].Kind != Cancel || out[1].Kind != Fail || out[1].Fault.Name != protocol.Timeout {
		t.Fatalf("at the deadline: %+v", out)
	}
	if want := "did not accept the request within 40s"; !strings.Contains(out[1].Fault.Message, want) {
		t.Errorf("message %q, want it to say that it %s", out[1].Fault.Message, want)
	}
	for _, limits := range []Limits{{Queue: time.Second}, {Idle: time.Second}} {
		if c := (&Call{State: Queued, Began: start, Limits: limits}); !c.Deadline().IsZero() {
			t.Errorf("%+v has the deadline %s", limits, c.Deadline())
		}
	}
}

// For a queued call, Ends returns the end of the queue timeout, without the idle timeout.
func TestEnds(t *testing.T) {
	c := &Call{State: Queued, Began: start, Limits: Limits{Queue: 10 * time.Second, Idle: 30 * time.Second}}
	if got := c.Ends().Sub(start); got != 10*time.Second {
		t.Errorf("queued: ends after %s, want 10s", got)
	}
	c.Step(start.Add(time.Second), Sent{}, nil)
	if got := c.Ends().Sub(start); got != 31*time.Second {
		t.Errorf("written: ends after %s, want 31s", got)
	}
}

// The error of each timeout names its limit. TimedOut is false for a parked call, since it waits for its client and not for the
// server. A limit of zero does not apply, whatever the others are.
func TestTimeoutReasons(t *testing.T) {
	all := Limits{Queue: 5 * time.Second, Idle: 30 * time.Second, Absolute: 50 * time.Second, Parked: time.Minute}
	without := func(drop func(*Limits)) Limits {
		l := all
		drop(&l)
		return l
	}
	tests := []struct {
		name     string
		limits   Limits
		events   []any
		after    time.Duration // when it times out; 0 = never
		reason   string
		timedOut bool
	}{
		{"queued", all, nil, 35 * time.Second, "the server did not accept the request within 35s", true},
		{"queued without a queue limit", without(func(l *Limits) { l.Queue = 0 }), nil, 0, "", false},
		{"idle", all, []any{Sent{}}, 30 * time.Second, "no answer and no progress for 30s", true},
		{"idle without an absolute limit", without(func(l *Limits) { l.Absolute = 0 }), []any{Sent{}}, 30 * time.Second, "no answer and no progress for 30s", true},
		{"absolute", without(func(l *Limits) { l.Idle = 0 }), []any{Sent{}}, 50 * time.Second, "no answer within 50s", true},
		{"absolute for a task", without(func(l *Limits) { l.Patient = true }), []any{Sent{}}, 50 * time.Second, "no answer within 50s", true},
		{"idle and absolute at once", without(func(l *Limits) { l.Absolute = l.Idle }), []any{Sent{}}, 30 * time.Second, "no answer within 30s", true},
		{"parked", all, []any{Sent{}, Asked{}}, time.Minute, "the server's request to the client was not answered within 1m0s", false},
		{"parked without a limit", without(func(l *Limits) { l.Parked = 0 }), []any{Sent{}, Asked{}}, 0, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Call{Seq: 1, Began: start, State: Queued, Limits: test.limits}
			for _, event := range test.events {
				c.Step(start, event, nil)
			}
			if test.after == 0 {
				if d := c.Deadline(); !d.IsZero() {
					t.Errorf("Deadline() = %v, want none", d.Sub(start))
				}
				return
			}
			if out := c.Step(start.Add(test.after-1), Tick{}, nil); len(out) > 0 {
				t.Errorf("a nanosecond before the deadline: %+v", out)
			}
			out := c.Step(start.Add(test.after), Tick{}, nil)
			if len(out) != 2 || out[0].Kind != Cancel || out[0].Reason != test.reason || out[0].TimedOut != test.timedOut {
				t.Fatalf("Step(Tick) = %+v, want a cancellation because of %q, timed out %v", out, test.reason, test.timedOut)
			}
			if !strings.Contains(out[1].Fault.Message, test.reason) {
				t.Errorf("the error message is %q, want %q in it", out[1].Fault.Message, test.reason)
			}
		})
	}
}

// Until a call without a queue limit is written, Ends returns zero.
func TestEndsWithoutQueueLimit(t *testing.T) {
	c := Call{Began: start, State: Queued, Limits: Limits{Idle: time.Second}}
	if at := c.Ends(); !at.IsZero() {
		t.Errorf("Ends() = %v, want none", at)
	}
}

// A call remembers the last progress that its client may see.
func TestProgressIsRemembered(t *testing.T) {
	c := &Call{State: Queued}
	for _, s := range []struct {
		params          string
		behind          bool
		progress, total float64
	}{{`{"progress":1,"total":4}`, false, 1, 4}, {`{"progress":9,"total":9}`, true, 1, 4}, {`{"progress":3}`, false, 3, 0}} {
		var f protocol.Frame
		if err := f.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + s.params + `}`)); err != nil {
			t.Fatal(err)
		}
		c.Step(start, Heard{Frame: f, Behind: s.behind}, nil)
		if c.Progress != s.progress || c.Total != s.total {
			t.Errorf("after %s: %v of %v", s.params, c.Progress, c.Total)
		}
	}
}
