package stateless

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

const (
	form    = `{"elicitation":{}}`
	accept  = `{"q1":{"action":"accept","content":{}}}`
	success = `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`
)

// told applies a message and returns what the clients are sent: the id of each request, followed by result, error,
// question, accepted, an HTTP status or the name of a fault.
func (d *statelessScript) told(msg any) (list []string) {
	d.t.Helper()
	for _, e := range step(d.s, d.now, msg, nil) {
		switch a := e.Act.(type) {
		case reply.Answer:
			f := actortest.Frame(d.t, string(a.Frame))
			word := "result"
			if f.Kind == protocol.KindError {
				word = "error"
			}
			if strings.Contains(string(a.Frame), `"input_required"`) {
				word = "question"
			}
			if id := string(f.IDBytes()); id != string(a.X.Frame.IDBytes()) {
				d.t.Errorf("answer %s to request %s", id, a.X.Frame.IDBytes())
			}
			list = append(list, fmt.Sprintf("%s: %s", a.X.Frame.IDBytes(), word))
		case relayError:
			list = append(list, fmt.Sprintf("%s: %d", a.x.Frame.IDBytes(), a.status))
		case reply.Refuse:
			list = append(list, fmt.Sprintf("%s: %s", a.X.Frame.IDBytes(), a.Fault.Name))
		case reply.Accept:
			list = append(list, fmt.Sprintf("%s: accepted", a.X.Frame.IDBytes()))
		}
	}
	return list
}

func (d *statelessScript) wants(what string, msg any, want ...string) {
	d.t.Helper()
	if got := d.told(msg); fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// A repeated retry gets the kept answer under its own id: a result, an error with its HTTP status, or the gateway's error.
func TestRepeatedRetries(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(d *statelessScript) any
		want string
	}{
		"a result": {func(d *statelessScript) any { return message.Done{Seq: d.first(), Frame: d.frame("%s", success)} }, "result"},
		"an error": {func(d *statelessScript) any {
			return message.Done{Seq: d.first(), Frame: d.frame(`{"jsonrpc":"2.0","id":5,"error":{"code":-7,"message":"no"}}`)}
		}, "error"},
		"an error with a status": {func(d *statelessScript) any {
			return message.Done{Seq: d.first(), Frame: d.frame(`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}`)}
		}, "404"},
		"a gateway error": {func(d *statelessScript) any {
			return message.Failed{Seq: d.first(), Fault: &protocol.Fault{Name: protocol.BackendDisconnected}}
		}, string(protocol.BackendDisconnected)},
	} {
		for _, left := range []bool{false, true} { // whether the client has left before the answer
			if _, failed := c.end(newStatelessScript(t, 1)).(message.Failed); failed && !left {
				continue // an error of the gateway is kept only if no request has got it
			}
			d := newStatelessScript(t, 1)
			state := d.parked(form, ``)
			retry := d.asking(2, form, ``, state, accept)
			d.wants(name+": the retry", retry)
			want := []string{"2: " + c.want}
			if left {
				d.step(reply.Departed{Seq: d.first(), X: retry.Exchange})
				want = nil
			}
			d.wants(name+": the answer", c.end(d), want...)
			d.wants(name+": the retry again", d.asking(3, form, ``, state, accept), "3: "+c.want)
			d.wants(name+": after another call", d.asking(4, form, ``, "", ""))
			stranger := d.asking(5, form, ``, state, accept)
			stranger.Who = &identity.Principal{ID: "key:b", Name: "b", Via: identity.ViaKey}
			d.wants(name+": another principal", stranger, "5: "+string(protocol.RequestStateInvalid))
			d.now = d.now.Add(keepOutcome)
			d.step(tidy{})
			d.wants(name+": a minute later", d.asking(6, form, ``, state, accept), "6: "+string(protocol.RequestStateInvalid))
		}
	}
}

// A retry gets a kept answer only if the call, the request, the principal and the project are the same.
func TestStoredAnswersBelongToTheirRequest(t *testing.T) {
	d := newStatelessScript(t, 1)
	state := d.parked(form, ``)
	d.step(d.asking(2, form, ``, state, accept))
	d.step(message.Done{Seq: d.first(), Frame: d.frame("%s", success)})
	if len(d.s.outcomes.list) != 1 {
		t.Fatalf("%d answers are kept", len(d.s.outcomes.list))
	}
	kept := d.s.outcomes.list[0]
	for name, change := range map[string]func(*outcome){
		"call": func(o *outcome) { o.seq++ }, "request": func(o *outcome) { o.digest[0]++ }, "principal": func(o *outcome) { o.principal = "key:b" }, "project": func(o *outcome) { o.project = "beta" },
	} {
		other := kept
		change(&other)
		d.s.outcomes.list = []outcome{other}
		d.wants("another "+name, d.asking(3, form, ``, state, accept), "3: "+string(protocol.RequestStateInvalid))
		d.s.outcomes.list = []outcome{other, kept}
		d.wants("another "+name+" before", d.asking(4, form, ``, state, accept), "4: result")
	}
}

// Two errors of servers have an HTTP status of their own; all other answers have 200.
func TestStatusOfAnswers(t *testing.T) {
	for raw, want := range map[string]int{
		`"result":{}`: 200, `"error":{"code":-32021,"message":""}`: 400, `"error":{"code":-32601,"message":""}`: 404, `"error":{"code":32601,"message":""}`: 200,
		`"error":{"code":32021,"message":""}`: 200, `"error":{"code":-32602,"message":""}`: 200, `"error":{"code":1.5,"message":""}`: 200,
	} {
		f := actortest.Frame(t, `{"jsonrpc":"2.0","id":5,`+raw+`}`)
		if got := statusOf(&f); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
		d := newStatelessScript(t, 1)
		d.step(d.asking(1, form, ``, "", ""))
		word := map[int]string{200: "error", 400: "400", 404: "404"}[want]
		if strings.Contains(raw, "result") {
			word = "result"
		}
		d.wants(raw, message.Done{Seq: d.first(), Frame: f}, "1: "+word)
	}
}

// A client has at most limits.parkedPerClient parked calls. Beyond that, its oldest call for which no request waits
// ends, or if there is none, the new one. Zero means no limit.
func TestParkedCallsOfAClient(t *testing.T) {
	park := func(d *statelessScript, id int) (seq uint64, told []string) {
		d.t.Helper()
		before := map[uint64]bool{}
		for seq := range d.s.calls.All() {
			before[seq] = true
		}
		d.step(d.asking(id, form, ``, "", ""))
		for s := range d.s.calls.All() {
			if !before[s] {
				seq = s
			}
		}
		told = d.told(message.ServerRequest{Seq: seq, Key: uint64(id), Frame: d.frame(oneForm)})
		if v := d.s.calls.Held(seq); v != nil {
			told = append(told, d.told(windowOver{seq, v.timerGen})...)
		}
		return seq, told
	}
	d := newStatelessScript(t, 1)
	d.s.limits.ParkedPerClient = 2
	first, _ := park(d, 1)
	second, told := park(d, 2)
	if d.s.calls.Held(first) == nil || fmt.Sprint(told) != "[2: question]" {
		t.Fatalf("at the limit: the first call is left: %v, told %q", d.s.calls.Held(first) != nil, told)
	}
	third, told := park(d, 3)
	if d.s.calls.Held(first) != nil || d.s.calls.Held(second) == nil || d.s.calls.Held(third) == nil || fmt.Sprint(told) != "[3: question]" {
		t.Errorf("one more: calls left %v %v %v, told %q; want the oldest to end", d.s.calls.Held(first) != nil, d.s.calls.Held(second) != nil, d.s.calls.Held(third) != nil, told)
	}
	if n := d.s.clients["10.0.0.1"]; n == nil || n.parked != 2 || n.inFlight != 2 {
		t.Errorf("counted %+v, want 2 and 2", n)
	}
	d.told(message.ServerRequest{Seq: third, Key: 33, Frame: d.frame(oneForm)}) // a second question takes no further place
	if d.s.calls.Held(second) == nil {
		t.Error("a further question of a parked call ended another one")
	}
	d.step(message.Done{Seq: third, Frame: d.frame("%s", success)})
	d.step(message.Done{Seq: second, Frame: d.frame("%s", success)})
	if len(d.s.clients) != 0 {
		t.Errorf("clients %v are left", d.s.clients)
	}
	d = newStatelessScript(t, 1)
	d.s.limits.ParkedPerClient, d.s.limits.MaxInFlightPerClient = 0, 0
	for id := range 5 {
		park(d, id+1)
	}
	if d.s.calls.Len() != 5 {
		t.Errorf("without a limit %d of 5 calls are left", d.s.calls.Len())
	}
	d = newStatelessScript(t, 1)
	d.s.limits.ParkedPerClient = 1
	d.s.clients["10.0.0.1"] = &usage{inFlight: 1, parked: 1}
	if seq, told := park(d, 1); d.s.calls.Held(seq) != nil || fmt.Sprint(told) != "[1: OVERLOADED]" {
		t.Errorf("no call can make room: told %q", told)
	}
}

// A client has at most limits.maxInFlightPerClient calls. Zero means no limit.
func TestCallsOfAClientAreLimited(t *testing.T) {
	for limit, want := range map[int]int{0: 5, 1: 1, 3: 3} {
		d := newStatelessScript(t, 1)
		d.s.limits.MaxInFlightPerClient = limit
		refused := 0
		for id := range 5 {
			refused += len(d.told(d.asking(id+1, form, ``, "", "")))
		}
		if d.s.calls.Len() != want || refused != 5-want {
			t.Errorf("limit %d: %d calls run, %d were refused; want %d and %d", limit, d.s.calls.Len(), refused, want, 5-want)
		}
	}
}

// Each of several actors gets its share of a client's limits, rounded up, so that together they permit at least the limit. Requests
// on stdio all go to one actor, which permits the whole limit.
func TestShareOfLimits(t *testing.T) {
	for _, c := range []struct{ limit, actors, want int }{{0, 4, 0}, {1, 4, 1}, {4, 4, 1}, {5, 4, 2}, {8, 4, 2}, {9, 4, 3}, {7, 1, 7}, {7, 0, 7}, {64, 16, 4}} {
		if got := (&usage{sharedBy: c.actors}).share(c.limit); got != c.want {
			t.Errorf("%d actors: share(%d) = %d, want %d", c.actors, c.limit, got, c.want)
		}
	}
	for _, stdio := range []bool{false, true} {
		d := newStatelessScript(t, 1)
		d.s.count = 4
		limits := d.s.limits
		limits.MaxInFlightPerClient, limits.ParkedPerClient = 8, 5
		d.step(message.NewLimits{Limits: limits})
		refused := 0
		for id := range 10 {
			m := d.asking(id+1, form, ``, "", "")
			m.Exchange.Origin.Stdio = stdio
			refused += len(d.told(m))
		}
		running, parked := d.s.calls.Len(), 0
		for seq := range d.s.calls.All() {
			d.told(message.ServerRequest{Seq: seq, Key: seq, Frame: d.frame(oneForm)})
			if v := d.s.calls.Held(seq); v != nil {
				d.told(windowOver{seq, v.timerGen})
			}
		}
		for _, use := range d.s.clients {
			parked = use.parked
		}
		if want := map[bool]string{false: "2 running, 8 refused, 2 parked", true: "8 running, 2 refused, 5 parked"}[stdio]; fmt.Sprintf("%d running, %d refused, %d parked", running, refused, parked) != want {
			t.Errorf("stdio %t: %d running, %d refused, %d parked; want %s", stdio, running, refused, parked, want)
		}
	}
}

// A call whose client has left is canceled: at once if the client cannot return, and after returnGrace if it has returned with a
// state before. A parked call waits.
func TestClientLeaves(t *testing.T) {
	d := newStatelessScript(t, 1)
	first := d.asking(1, form, ``, "", "")
	d.step(first)
	d.step(reply.Departed{Seq: d.first(), X: first.Exchange})
	if d.s.calls.Len() != 0 {
		t.Error("the call of a client that cannot return continues")
	}
	for name, c := range map[string]struct {
		meanwhile func(d *statelessScript)
		want      bool // whether the call continues
	}{
		"it does not return": {func(*statelessScript) {}, false},
		"it has returned":    {func(d *statelessScript) { d.step(d.asking(3, form, ``, d.states[0], accept)) }, true},
		"its server asks again": {func(d *statelessScript) {
			d.step(message.ServerRequest{Seq: d.first(), Key: 9, Frame: d.frame(oneForm)})
		}, true},
		"it returned, and left":   {func(d *statelessScript) { leave(d, 3) }, true}, // another timer runs
		"the grace is not over":   {func(d *statelessScript) { d.timers = nil }, true},
		"an answer was delivered": {func(d *statelessScript) { d.step(message.Done{Seq: d.first(), Frame: d.frame("%s", success)}) }, false},
	} {
		d := newStatelessScript(t, 1)
		d.parked(form, ``)
		leave(d, 2)
		d.timers = slices.DeleteFunc(d.timers, func(m any) bool { _, is := m.(graceOver); return !is })
		if len(d.timers) != 1 || d.s.calls.Len() != 1 {
			t.Fatalf("%s: timers %v, %d calls; want one timer and one call", name, d.timers, d.s.calls.Len())
		}
		timer := d.timers[0]
		c.meanwhile(d)
		if name != "the grace is not over" {
			d.step(timer)
		}
		if (d.s.calls.Len() == 1) != c.want {
			t.Errorf("%s: the call continues: %v, want %v", name, !c.want, c.want)
		}
	}
}

// leave lets the client return with an answer, and leave before the call has ended.
func leave(d *statelessScript, id int) {
	retry := d.asking(id, form, ``, d.states[0], accept)
	d.step(retry)
	for _, e := range step(d.s, d.now, reply.Departed{Seq: d.first(), X: retry.Exchange}, nil) {
		if w, is := e.Act.(kernel.Wake); is {
			if _, is := w.Msg.(graceOver); is && w.After != returnGrace {
				d.t.Errorf("a client may return for %v, want %v", w.After, returnGrace)
			}
			d.timers = append(d.timers, w.Msg)
		}
	}
}

// If one of several requests for a call leaves, the others get the answer.
func TestOneOfSeveralRequestsLeaves(t *testing.T) {
	d := newStatelessScript(t, 1)
	state := d.parked(form, ``)
	second, third := d.asking(2, form, ``, state, accept), d.asking(3, form, ``, state, accept)
	d.step(second)
	d.step(third)
	d.step(reply.Departed{Seq: d.first(), X: second.Exchange})
	d.wants("the answer", message.Done{Seq: d.first(), Frame: d.frame("%s", success)}, "3: result")
}

// A client on stdio cancels the request that it names, and no other. The call ends with its last request.
func TestCancelStateless(t *testing.T) {
	cancel := func(id string) message.CancelStateless {
		return message.CancelStateless{Remote: "stdio", RequestID: id}
	}
	stdio := func(d *statelessScript, id int, state, answers string) message.StatelessRequest {
		m := d.asking(id, form, ``, state, answers)
		m.Exchange.Origin = downstream.Origin{Remote: "stdio", Stdio: true}
		return m
	}
	d := newStatelessScript(t, 1)
	d.step(stdio(d, 1, "", ""))
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(oneForm)})
	for _, timer := range d.timers {
		d.step(timer)
	}
	for id := 2; id <= 4; id++ {
		d.step(stdio(d, id, d.states[0], accept))
	}
	d.wants("an unknown request", cancel("9"))
	d.wants("the second of three", cancel("3"), "3: accepted")
	d.wants("the same again", cancel("3"))
	d.wants("the first", cancel("2"), "2: accepted")
	if d.s.calls.Len() != 1 {
		t.Fatal("the call ended although a request waits")
	}
	d.wants("the last", cancel("4"), "4: accepted")
	if d.s.calls.Len() != 0 {
		t.Error("the call continues without requests")
	}
	d = newStatelessScript(t, 1)
	d.servers("one")
	for id := range 2 {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: "stdio", Stdio: true}}
		x.Frame, x.Params = actortest.Request(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"file:///x%d"}}`, id+1, id))
		d.step(message.StatelessRequest{Exchange: x})
	}
	d.wants("another request", cancel("9"))
	d.wants("a request that waits for a list", cancel("2"), "2: accepted")
	if waiting := d.s.calls.Waiting(); len(waiting) != 1 || string(waiting[0].Exchange.Frame.IDBytes()) != "1" {
		t.Errorf("%d requests wait, want the first", len(waiting))
	}
}

// A state counts as new only once within its lifetime. The number of remembered states is limited.
func TestResumedStates(t *testing.T) {
	var c resumedStates
	now, life := time.Unix(1000, 0), time.Minute
	first := func(state string) bool { return c.first(now, life, []byte(state)) }
	if !first("a") || first("a") || !first("b") || first("b") {
		t.Error("a state counts as new twice or not at all")
	}
	now = now.Add(life - 1)
	if first("a") {
		t.Error("the state is forgotten within its lifetime")
	}
	now = now.Add(1)
	if first("a") {
		t.Error("forgotten at the end of the first lifetime, when its successor has just begun")
	}
	now = now.Add(life)
	if !first("a") {
		t.Error("remembered after two lifetimes")
	}
	c = resumedStates{}
	for i := range 3 * maxResumed {
		first(fmt.Sprint(i))
		if len(c.now) > maxResumed || len(c.before) > maxResumed {
			t.Fatalf("%d and %d states are remembered", len(c.now), len(c.before))
		}
	}
	if len(c.now) != maxResumed || len(c.before) != maxResumed || first(fmt.Sprint(3*maxResumed-1)) || first(fmt.Sprint(2*maxResumed)) {
		t.Errorf("%d and %d states are remembered, want the newest %d", len(c.now), len(c.before), 2*maxResumed)
	}
}
