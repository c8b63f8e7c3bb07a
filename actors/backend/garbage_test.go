package backend

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

// noisy is a ready backend on stdio whose call has the id it returns.
func noisy(t *testing.T) (*driver, uint32) {
	o := opened(t, "stdio", true)
	o.want(o.frame(welcome), "notifications/initialized", "tools/list")
	o.want(o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`, o.s.conn.lastID)), "ready")
	o.want(message.Send{Call: message.CallRef{Seq: 5}, Request: request(t, callFrame)}, "tools/call")
	return o, o.s.conn.lastID
}

// told is what a step says to the call's holder and to the log.
func (o *driver) told(msg any) (fault *protocol.Fault, warnings []string) {
	for _, e := range step(o.s, time.Unix(0, 0), msg, nil) {
		if m, ok := e.Msg.(message.Failed); ok {
			fault = m.Fault
		}
		if l, ok := e.Act.(kernel.Logged); ok && l.Level >= slog.LevelWarn {
			warnings = append(warnings, l.Text+fmt.Sprint(l.Args...))
		}
	}
	return fault, warnings
}

// An answer that is no message ends its call at once, not after the timeout, and the log says what to do.
func TestBrokenAnswersEndTheirCall(t *testing.T) {
	tooLarge := fmt.Errorf("%w: more than 100 bytes", stream.ErrFrameTooLarge)
	for _, c := range []struct {
		name string
		id   func(uint32) string
		err  error
		want protocol.FaultName
		hint string
	}{
		{"broken", func(id uint32) string { return fmt.Sprint(id) }, errors.New("malformed JSON"), protocol.InternalFault, "fix or update"},
		{"id as text", func(id uint32) string { return fmt.Sprintf("%q", fmt.Sprint(id)) }, errors.New("too deep"), protocol.InternalFault, "fix or update"},
		{"too large", func(id uint32) string { return fmt.Sprint(id) }, tooLarge, protocol.MessageTooLarge, "limits.maxMessageBytes"},
		{"to an unknown request", func(id uint32) string { return fmt.Sprint(id + 1) }, tooLarge, "", "must log to stderr"},
		{"no answer", func(uint32) string { return "" }, errors.New("not JSON"), "", "must log to stderr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, id := noisy(t)
			fault, warnings := o.told(linkEvent{1, upstream.Noise{Line: []byte("{"), ID: []byte(c.id(id)), Err: c.err}})
			switch {
			case c.want == "" && fault != nil:
				t.Errorf("the call ends with %v", fault)
			case c.want != "" && (fault == nil || fault.Name != c.want || !strings.Contains(fault.Message, c.err.Error())):
				t.Errorf("the call ends with %+v, want %s and the reason", fault, c.want)
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], c.hint) {
				t.Errorf("warnings %q, want one with %q", warnings, c.hint)
			}
			if _, there := o.s.conn.pending[id]; there == (c.want != "") {
				t.Errorf("pending: %v", there)
			}
		})
	}
}

// Each incarnation's first line that is no message is a warning, the others are not: a banner of the first must not hide
// what is wrong with the second.
func TestNoiseIsWarnedOfOnceAnIncarnation(t *testing.T) {
	o, _ := noisy(t)
	noise := upstream.Noise{Line: []byte("Listening"), Err: errors.New("no JSON")}
	for i, want := range []int{1, 0, 0} {
		if _, warnings := o.told(linkEvent{1, noise}); len(warnings) != want {
			t.Errorf("line %d: warnings %q, want %d", i, warnings, want)
		}
	}
	o.step(linkEvent{1, upstream.Closed{}})
	o.step(reconnectDue{1})
	o.step(message.Connect{})
	o.step(linkEvent{2, upstream.Opened{}})
	if _, warnings := o.told(linkEvent{2, noise}); len(warnings) != 1 || o.s.report(time.Unix(0, 0)).Noise != 4 {
		t.Errorf("after a restart: warnings %q, %d lines counted", warnings, o.s.report(time.Unix(0, 0)).Noise)
	}
}

// A server that answers ids it never got is named in the log once; a late answer is no fault.
func TestStrayAnswers(t *testing.T) {
	o, id := noisy(t)
	answer := func(id uint32) linkEvent { return o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id)) }
	if _, warnings := o.told(answer(id - 1)); len(warnings) != 0 {
		t.Errorf("a late answer: %q", warnings)
	}
	for i, want := range []int{1, 0} {
		if fault, warnings := o.told(answer(id + 700)); len(warnings) != want || fault != nil {
			t.Errorf("wrong id, time %d: %q, %v", i, warnings, fault)
		}
	}
}

// One item that is none does not cost the others.
func TestItemsThatAreNone(t *testing.T) {
	o := opened(t, "stdio", true)
	o.want(o.frame(welcome), "notifications/initialized", "tools/list")
	out := step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[1,{"name":"a"},null,{"name":"b"},[]]}}`, o.s.conn.lastID)), nil)
	var listed []message.Listed
	for _, e := range out {
		if m, ok := e.Msg.(message.Listed); ok && m.Kind == protocol.Tools {
			listed = append(listed, m)
		}
	}
	if len(listed) != 1 || len(listed[0].Items) != 2 {
		t.Errorf("listed %+v, want a and b", listed)
	}
}

// What a start was waiting for when its time was over.
func TestStartTimeoutSaysWhatIsMissing(t *testing.T) {
	o := &driver{t: t, s: newState(Options{Server: cfg(), Catalog: true, Transport: "stdio"}, kernel.Reference{}, new(uint64))}
	o.step(kernel.Started{})
	for _, c := range []struct {
		msg  any
		want string
	}{
		{message.Connect{}, "it could not be reached"},
		{linkEvent{1, upstream.Opened{}}, "it has not answered initialize"},
		{o.frame(welcome), "its lists are not complete"},
	} {
		o.step(c.msg)
		if got := o.s.missing(); got != c.want {
			t.Errorf("after %T: %q, want %q", c.msg, got, c.want)
		}
	}
}

// A server that asks without end in one call is refused from some point on: what is open is held in memory.
func TestQuestionsOfOneCallAreBounded(t *testing.T) {
	o, _ := noisy(t)
	refused := 0
	for n := range maxQuestionsOfCall + 10 {
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{}}`, n)), nil) {
			if w, ok := e.Act.(write); ok && strings.Contains(string(w.out.Frame), "-31010") {
				refused++
			}
		}
	}
	if len(o.s.questions.open) != maxQuestionsOfCall || refused != 10 {
		t.Errorf("%d are open and %d were refused, want %d and 10", len(o.s.questions.open), refused, maxQuestionsOfCall)
	}
}
