package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// sends applies the Send of a call whose client answers elicitations and lists roots. It returns the gateway's id of the
// call.
func (o *driver) sends(seq uint64, change ...func(*message.Request)) uint32 {
	o.t.Helper()
	r := request(o.t, callFrame)
	r.Caller = &message.Caller{Can: message.CanForm | message.CanRoots}
	for _, c := range change {
		c(r)
	}
	o.step(message.Send{Call: message.CallRef{Seq: seq}, Request: r})
	return o.s.conn.lastID
}

// asked applies a message and returns the server requests for clients, as "seq key".
func (o *driver) asked(msg any) (list []string) {
	for _, e := range step(o.s, time.Unix(0, 0), msg, nil) {
		if m, is := e.Msg.(message.ServerRequest); is {
			list = append(list, fmt.Sprintf("%d %d", m.Seq, m.Key))
		}
	}
	return list
}

const elicit = `{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"?"%s}}`

// A question that its server withdraws is withdrawn at its client. Without further questions, the call is no longer
// parked.
func TestServerWithdrawsAQuestion(t *testing.T) {
	o := readyWith(t, `{}`)
	id := o.sends(1)
	o.asked(o.frame(fmt.Sprintf(elicit, "a", "")))
	o.asked(o.frame(fmt.Sprintf(elicit, "b", "")))
	o.step(burstOver{1, id})
	cancel := func(id string) (withdrawn []uint64, parked []bool) {
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`), nil) {
			switch m := e.Msg.(type) {
			case message.ServerRequestCanceled:
				withdrawn = append(withdrawn, m.Key)
			case message.CallParked:
				parked = append(parked, m.Yes)
			}
		}
		return withdrawn, parked
	}
	for _, c := range []struct {
		id        string
		withdrawn []uint64
		parked    []bool
	}{{`"x"`, nil, nil}, {`"b"`, []uint64{2}, nil}, {`"b"`, nil, nil}, {`"a"`, []uint64{1}, []bool{false}}} {
		if withdrawn, parked := cancel(c.id); !slices.Equal(withdrawn, c.withdrawn) || !slices.Equal(parked, c.parked) {
			t.Errorf("%s: withdrawn %v, parked %v; want %v, %v", c.id, withdrawn, parked, c.withdrawn, c.parked)
		}
	}
}

// If exactly one call is in progress and its client supports roots, the roots are requested from that client. Otherwise the
// answer is the configured roots.
func TestRootsOfClientOrConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		can    message.CapabilitySet
		calls  int
		client bool
	}{"a client with roots": {message.CanRoots, 1, true}, "a client without roots": {message.CanForm, 1, false}, "no call": {0, 0, false}, "two calls": {message.CanRoots, 2, false}} {
		o := readyWith(t, `{}`)
		for i := range c.calls {
			o.sends(uint64(i+1), func(r *message.Request) { r.Caller.Can = c.can })
		}
		effects := step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`), nil)
		asked, answered := 0, 0
		for _, e := range effects {
			if _, is := e.Msg.(message.ServerRequest); is {
				asked++
			}
			if w, is := e.Act.(write); is && strings.Contains(string(w.out.Frame), `"result":{"roots":[]}`) {
				answered++
			}
		}
		if (asked == 1) != c.client || (answered == 1) == c.client {
			t.Errorf("%s: asked %d clients, answered %d times", name, asked, answered)
		}
	}
}

// Over HTTP, a question belongs to the call on whose response it arrives. If the ticket is unknown and several calls run,
// no client is asked.
func TestQuestionOnTheResponseOfItsCall(t *testing.T) {
	on := func(o *driver, ticket uint32) linkEvent {
		f := actortest.Frame(o.t, fmt.Sprintf(elicit, fmt.Sprint("q", ticket), ""))
		return linkEvent{1, upstream.Received{Frame: f, Ticket: uint64(ticket)}}
	}
	o := readyWith(t, `{}`)
	first, second := o.sends(1), o.sends(2)
	if got := o.asked(on(o, second)); !slices.Equal(got, []string{"2 1"}) {
		t.Errorf("on the second response: asked %v", got)
	}
	if got := o.asked(on(o, first)); !slices.Equal(got, []string{"1 2"}) {
		t.Errorf("on the first response: asked %v", got)
	}
	o = readyWith(t, `{}`)
	o.sends(1)
	o.sends(2)
	if got := o.asked(on(o, second+50)); len(got) != 0 {
		t.Errorf("on an unknown response with two calls: asked %v", got)
	}
}

// A client's URL elicitation is remembered until its server reports that it is complete. The number is limited, and the oldest is
// forgotten.
func TestElicitationsAreRemembered(t *testing.T) {
	o := readyWith(t, `{}`)
	o.sends(1)
	complete := func(id string) (done int) {
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`+id+`}}`), nil) {
			if _, is := e.Msg.(message.ElicitationDone); is {
				done++
			}
		}
		return done
	}
	n := 0
	asks := func(member string) {
		n++
		o.asked(o.frame(fmt.Sprintf(elicit, fmt.Sprint("q", n), member)))
		o.step(message.ServerRequestResult{Key: uint64(n), Result: []byte(`{"action":"accept"}`)})
	}
	asks("") // no id
	asks(`,"elicitationId":"` + strings.Repeat("x", 1022) + `"`)
	asks(`,"elicitationId":"` + strings.Repeat("y", 1023) + `"`) // too long
	if len(o.s.questions.elicited) != 1 {
		t.Errorf("%d are remembered, want the one of 1024 bytes", len(o.s.questions.elicited))
	}
	for i := range maxElicited + 1 {
		asks(fmt.Sprintf(`,"elicitationId":"e%d"`, i))
		if len(o.s.questions.elicited) > maxElicited {
			t.Fatalf("%d are remembered", len(o.s.questions.elicited))
		}
	}
	for id, want := range map[string]int{`"e0"`: 0, fmt.Sprintf(`"e%d"`, maxElicited): 1, `"e1"`: 1, `"unknown"`: 0} {
		if got := complete(id); got != want {
			t.Errorf("%s is complete: %d clients notified, want %d", id, got, want)
		}
		if got := complete(id); got != 0 {
			t.Errorf("%s is complete again: %d clients notified", id, got)
		}
	}
	if len(o.s.questions.elicited) != maxElicited-2 {
		t.Errorf("%d are left, want %d", len(o.s.questions.elicited), maxElicited-2)
	}
}

// After a call with open questions was canceled, its server gets an answer to each, unless it withdraws the question first.
func TestQuestionsOfACanceledCall(t *testing.T) {
	o := readyWith(t, `{}`)
	id := o.sends(1)
	o.asked(o.frame(fmt.Sprintf(elicit, "a", "")))
	o.asked(o.frame(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`))
	o.asked(o.frame(fmt.Sprintf(elicit, "b", "")))
	if got := o.frames(message.CancelSent{Call: message.CallRef{Seq: 1}}); len(got) != 1 || !strings.Contains(got[0], "notifications/cancelled") {
		t.Fatalf("canceled: wrote %q", got)
	}
	o.step(o.frame(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`))
	got := o.frames(cancelOver{1, id})
	want := []string{`{"jsonrpc":"2.0","id":"r","error":{"code":-1,`, `{"jsonrpc":"2.0","id":"b","result":{"action":"cancel"}}`}
	if len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || got[1] != want[1] {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if got := o.frames(cancelOver{1, id}); len(got) != 0 {
		t.Errorf("wrote again %q", got)
	}
}

// A question that arrives on the response of a canceled call waits with the call's other questions.
func TestLateQuestionOfACanceledCall(t *testing.T) {
	o := readyWith(t, `{}`)
	id := o.sends(1)
	o.asked(o.frame(fmt.Sprintf(elicit, "a", "")))
	o.step(message.CancelSent{Call: message.CallRef{Seq: 1}})
	late := func(n int) []string {
		f := actortest.Frame(t, fmt.Sprintf(elicit, fmt.Sprint("late", n), ""))
		return o.frames(linkEvent{1, upstream.Received{Frame: f, Ticket: uint64(id)}})
	}
	for n := range maxQuestionsOfCall - 1 {
		if got := late(n); len(got) != 0 {
			t.Fatalf("question %d was answered at once: %q", n+2, got)
		}
	}
	if got := late(999); len(got) != 1 || !strings.Contains(got[0], `"error"`) {
		t.Errorf("question %d: wrote %q, want an error", maxQuestionsOfCall+1, got)
	}
	if got := o.frames(cancelOver{1, id}); len(got) != maxQuestionsOfCall {
		t.Errorf("%d questions were answered, want %d", len(got), maxQuestionsOfCall)
	}
}

// Log lines belong to the call on whose response they arrive, or to the only call. The pool gets all others.
// Modern clients get log lines only if they have asked for a level, and a canceled call's lines are dropped.
func TestLogLinesOfCalls(t *testing.T) {
	const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
	for name, c := range map[string]struct {
		modern   bool
		level    protocol.Level
		canceled bool
		asks     bool // the call has asked its client before
		ticket   bool // the line arrives on the call's response
		calls    int
		want     string
	}{
		"a legacy client":                 {false, "", false, false, true, 1, "call"},
		"a modern client":                 {true, "", false, false, true, 1, "dropped"},
		"a modern client with level":      {true, "debug", false, false, true, 1, "call"},
		"a canceled call":                 {false, "", true, false, true, 1, "dropped"},
		"a canceled call with a question": {false, "", true, true, true, 1, "dropped"},
		"no response, one call":           {false, "", false, false, false, 1, "call"},
		"no response, two calls":          {false, "", false, false, false, 2, "pool"},
		"no response, no call":            {false, "", false, false, false, 0, "pool"},
	} {
		o := readyWith(t, `{}`)
		id := uint32(0)
		for i := range c.calls {
			id = o.sends(uint64(i+1), func(r *message.Request) { r.Modern, r.Caller.LogLevel = c.modern, c.level })
		}
		if c.asks {
			o.asked(o.frame(fmt.Sprintf(elicit, "a", "")))
		}
		if c.canceled {
			o.step(message.CancelSent{Call: message.CallRef{Seq: 1}})
		}
		event := upstream.Received{Frame: actortest.Frame(t, line)}
		if c.ticket {
			event.Ticket = uint64(id)
		}
		got := "dropped"
		for _, e := range step(o.s, time.Unix(0, 0), linkEvent{1, event}, nil) {
			switch e.Msg.(type) {
			case message.Log:
				got = "call"
			case message.ServerLog:
				got = "pool"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// An odd response to tasks/result is checked against the task's status: the result of a task that runs is requested
// again, an empty result of a failed or canceled task becomes an error with its reason, and otherwise the response is
// passed on.
func TestOddResultsOfTasks(t *testing.T) {
	const task = `{"jsonrpc":"2.0","id":%d,"result":{"task":{"taskId":"t","status":"working"}}}`
	const empty, refused = `"result":{}`, `"error":{"code":-32602,"message":"not finished"}`
	for name, c := range map[string]struct {
		odd, status string
		want        string // part of the client's answer; "" = the result is requested again
	}{
		"empty, failed":            {empty, `"result":{"taskId":"t","status":"failed","statusMessage":"disk full"}`, `"content":[{"type":"text","text":"disk full"}],"isError":true`},
		"empty, failed, no reason": {empty, `"result":{"taskId":"t","status":"failed"}`, `"text":"the call's task failed"}],"isError":true`},
		"empty, canceled":          {empty, `"result":{"taskId":"t","status":"cancelled"}`, `task was canceled"}],"isError":true`},
		"empty, completed":         {empty, `"result":{"taskId":"t","status":"completed"}`, `"result":{}`},
		"empty, no status":         {empty, `"error":{"code":-32602,"message":"gone"}`, `"result":{}`},
		"empty, working":           {empty, `"result":{"taskId":"t","status":"working"}`, ""},
		"empty, input required":    {empty, `"result":{"taskId":"t","status":"input_required"}`, ""},
		"refused, working":         {refused, `"result":{"taskId":"t","status":"working"}`, ""},
		"refused, failed":          {refused, `"result":{"taskId":"t","status":"failed"}`, "not finished"},
		"refused, completed":       {refused, `"result":{"taskId":"t","status":"completed"}`, "not finished"},
	} {
		o := readyWith(t, `{"tasks":{"requests":{"tools":{"call":{}}}}}`)
		id := o.sends(1, func(r *message.Request) { r.Followed() })
		if got := o.step(o.frame(fmt.Sprintf(task, id))); !slices.Equal(got, []string{"tasks/result"}) {
			t.Fatalf("%s: after the task was created: %q", name, got)
		}
		if got := o.step(o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, o.s.conn.lastID, c.odd))); !slices.Equal(got, []string{"tasks/get"}) {
			t.Fatalf("%s: after the odd response: %q", name, got)
		}
		answer, again := "", false
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, o.s.conn.lastID, c.status)), nil) {
			if m, is := e.Msg.(message.Done); is {
				answer = string(m.Frame.Raw)
			}
			if w, is := e.Act.(kernel.Wake); is {
				_, again = w.Msg.(taskPollDue)
			}
		}
		if c.want == "" && (answer != "" || !again) || c.want != "" && (!strings.Contains(answer, c.want) || again) {
			t.Errorf("%s: answered %q, requested again %v; want %q", name, answer, again, c.want)
		}
		if c.want == "" {
			o.want(taskPollDue{1, o.s.conn.lastID}, "tasks/result")
		}
	}
}

// A result with content, structured content or a task is not odd. Neither is an empty result of a method other than
// tools/call, nor an error other than -32602.
func TestResultsThatAreNotOdd(t *testing.T) {
	for body, odd := range map[string]bool{
		`"result":{}`: true, `"result":{"_meta":{}}`: true, `"result":{"content":[]}`: false, `"result":{"structuredContent":{}}`: false, `"result":{"task":{}}`: false,
		`"error":{"code":-32602,"message":""}`: true, `"error":{"code":-32603,"message":""}`: false,
	} {
		f := actortest.Frame(t, `{"jsonrpc":"2.0","id":1,`+body+`}`)
		for method, want := range map[protocol.Method]bool{protocol.MethodToolsCall: odd, protocol.MethodPromptsGet: odd && strings.HasPrefix(body, `"error"`)} {
			r := &message.Request{}
			r.Frame.Method = method
			if got := needsVerification(r, &f); got != want {
				t.Errorf("%s of %s is odd: %v, want %v", body, method, got, want)
			}
		}
	}
}

// A task's id has 1 to maxTaskID bytes.
func TestLengthOfTaskIDs(t *testing.T) {
	for n, valid := range map[int]bool{0: false, 1: true, maxTaskID: true, maxTaskID + 1: false} {
		answer := fmt.Sprintf(`"result":{"task":{"taskId":%q,"status":"working"}}`, strings.Repeat("x", n))
		for name, change := range map[string]func(*message.Request){"followed": func(r *message.Request) { r.Followed() }, "as a task": func(r *message.Request) { r.AsTask = true }} {
			o := readyWith(t, `{"tasks":{"requests":{"tools":{"call":{}}}}}`)
			id := o.sends(1, change)
			fault, _ := o.told(o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, answer)))
			if (fault == nil) != valid {
				t.Errorf("%s, %d bytes: fault %v", name, n, fault)
			}
		}
		o := readyWith(t, `{"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`)
		if got := o.step(message.DropTask{ID: strings.Repeat("x", n), Incarnation: 1}); (len(got) == 1) != valid {
			t.Errorf("dropped, %d bytes: %q", n, got)
		}
	}
}

// Progress with the token of a task's call is sent to the client as progress of that task. With an unknown token, it is
// sent for no task.
func TestProgressOfTasks(t *testing.T) {
	o := readyWith(t, `{"tasks":{"requests":{"tools":{"call":{}}}}}`)
	var tokens []uint32
	for i, id := range []string{"a", "b"} {
		token := o.sends(uint64(i+1), func(r *message.Request) { r.AsTask = true })
		tokens = append(tokens, token)
		o.step(o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"task":{"taskId":%q,"status":"working"}}}`, token, id)))
	}
	notified := func(token uint32) (tasks []string) {
		for _, e := range step(o.s, time.Unix(0, 0), o.frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, token)), nil) {
			if m, is := e.Msg.(message.TaskNotification); is {
				tasks = append(tasks, m.ID)
			}
		}
		return tasks
	}
	if a, b, other := notified(tokens[0]), notified(tokens[1]), notified(tokens[1]+7); !slices.Equal(a, []string{"a"}) || !slices.Equal(b, []string{"b"}) || len(other) != 0 {
		t.Errorf("progress reached the tasks %v, %v and %v", a, b, other)
	}
}
