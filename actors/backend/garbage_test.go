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

// noisy returns a ready backend on stdio with a call, and the call's id.
func noisy(t *testing.T) (*driver, uint32) {
	o := opened(t, "stdio", true)
	o.want(o.frame(welcome), "notifications/initialized", "tools/list")
	o.want(o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`, o.s.conn.lastID)), "ready")
	o.want(message.Send{Call: message.CallRef{Seq: 5}, Request: request(t, callFrame)}, "tools/call")
	return o, o.s.conn.lastID
}

// told applies a message and returns the fault for the call's holder and the logged warnings.
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

// An invalid response fails its call at once, and the log says what to do.
func TestInvalidResponseFailsItsCall(t *testing.T) {
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
		{"not a response", func(uint32) string { return "" }, errors.New("not JSON"), "", "must log to stderr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, id := noisy(t)
			fault, warnings := o.told(linkEvent{1, upstream.Noise{Line: []byte("{"), ID: []byte(c.id(id)), Err: c.err}})
			switch {
			case c.want == "" && fault != nil:
				t.Errorf("fault %v, want none", fault)
			case c.want != "" && (fault == nil || fault.Name != c.want || !strings.Contains(fault.Message, c.err.Error())):
				t.Errorf("fault %+v, want %s and the reason", fault, c.want)
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

// Only a connection's first line that is not a message is logged as a warning. Each connection has its own warning, so
// that a banner on the first connection does not hide a problem of the second.
func TestGarbageIsLoggedOncePerConnection(t *testing.T) {
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

// The first response with an unknown id is logged as a warning. A late response is not.
func TestStrayAnswers(t *testing.T) {
	o, id := noisy(t)
	answer := func(id uint32) linkEvent { return o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id)) }
	if _, warnings := o.told(answer(id - 1)); len(warnings) != 0 {
		t.Errorf("late response: warnings %q", warnings)
	}
	for i, want := range []int{1, 0} {
		if fault, warnings := o.told(answer(id + 700)); len(warnings) != want || fault != nil {
			t.Errorf("unknown id, response %d: warnings %q, fault %v", i, warnings, fault)
		}
	}
}

// An invalid item is left out of its list, and the others are kept.
func TestInvalidItemsAreLeftOut(t *testing.T) {
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

// The reason given for a start that took too long says what it was waiting for.
func TestStartTimeoutSaysWhatIsMissing(t *testing.T) {
	type want struct {
		msg  any
		want string
	}
	for transport, steps := range map[string][]want{
		"stdio": {
			{message.Connect{}, "it could not be reached"},
			{linkEvent{1, upstream.Opened{}}, "it has not answered initialize"},
			{probeExpired{1}, "it has not answered initialize or server/discover"},
		},
		"http": {
			{message.Connect{}, "it could not be reached"},
			{linkEvent{1, upstream.Opened{}}, "it has not answered server/discover"},
		},
	} {
		server := cfg()
		server.Protocol = "auto"
		o := &driver{t: t, s: newState(Options{Server: server, Catalog: true, Transport: transport}, kernel.Reference{}, new(uint64))}
		o.step(kernel.Started{})
		for _, c := range steps {
			o.step(c.msg)
			if got := o.s.missing(); got != c.want {
				t.Errorf("%s: after %T: %q, want %q", transport, c.msg, got, c.want)
			}
		}
		if o.step(o.frame(welcome)); transport == "stdio" && o.s.missing() != "its lists are not complete" {
			t.Errorf("after the response to initialize: %q", o.s.missing())
		}
	}
}

// The number of open server requests of one call is limited.
func TestQuestionsOfOneCallAreLimited(t *testing.T) {
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
		t.Errorf("%d questions open and %d refused, want %d and 10", len(o.s.questions.open), refused, maxQuestionsOfCall)
	}
}
