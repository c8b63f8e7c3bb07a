package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// servers publishes a catalog of servers with these names. The first one has resources, in a list that changes without
// notification.
func (d *statelessScript) servers(names ...string) {
	var sources []catalog.Source
	for i, name := range names {
		source := catalog.Source{Server: &catalog.Server{Name: name, Order: i, Rules: config.DefaultServer(), Settled: true, Instructions: "Instructions of " + name + "."}}
		for n := range 15 * (1 - min(1, i)) {
			source.Items[protocol.Resources] = append(source.Items[protocol.Resources], fmt.Appendf(nil, `{"uri":"file:///%d","name":"r"}`, n))
		}
		source.Silent[protocol.Resources] = true
		sources = append(sources, source)
	}
	d.step(message.Published{Snapshot: catalog.Build(nil, sources, catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10})})
}

// ask sends a request. It returns the answer, how often the request was sent to a server, and how often a pool was
// notified that a list was served.
func (d *statelessScript) ask(method, params string) (answer string, sent, served int) {
	d.t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Remote: "10.0.0.1:1"}}
	x.Frame, x.Params = actortest.Request(d.t, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, params))
	for _, e := range step(d.s, d.now, message.StatelessRequest{Exchange: x}, nil) {
		switch e.Msg.(type) {
		case message.Dispatch:
			sent++
		case message.ListServed:
			served++
		}
		switch a := e.Act.(type) {
		case reply.Answer:
			answer = string(a.Frame)
		case reply.Refuse:
			answer = string(a.Fault.Name) + " " + a.Fault.Message
		}
	}
	return answer, sent, served
}

// The gateway describes itself with the instructions of the servers, if there are any. It tells its node name only to
// other gateways. A request of the gateway itself is refused.
func TestDiscover(t *testing.T) {
	for name, c := range map[string]struct {
		servers    []string
		node       string
		has, lacks string
	}{
		"a client":                  {[]string{"one"}, "", "Instructions of one.", string(protocol.NodeMember("this"))},
		"without servers":           {nil, "", `"supportedVersions":["2026-07-28"]`, "instructions"},
		"another gateway":           {[]string{"one"}, "other", string(protocol.NodeMember("this")), "is among its own servers"},
		"the gateway itself":        {[]string{"one"}, "this", "is among its own servers", "supportedVersions"},
		"a gateway without servers": {nil, "other", string(protocol.NodeMember("this")), "instructions"},
	} {
		d := newStatelessScript(t, 1)
		d.s.node = "this"
		d.servers(c.servers...)
		meta := ""
		if c.node != "" {
			meta = `"_meta":{` + string(protocol.NodeMember(c.node)) + `}`
		}
		got, _, _ := d.ask("server/discover", meta)
		if !strings.Contains(got, c.has) || strings.Contains(got, c.lacks) {
			t.Errorf("%s: %s, want %s and not %s", name, got, c.has, c.lacks)
		}
	}
}

// A method that the gateway does not know is sent to the only server in view. With several servers it is unknown.
func TestMethodsOfTheOnlyServer(t *testing.T) {
	for name, c := range map[string]struct {
		servers []string
		method  string
		sent    int
	}{
		"one server": {[]string{"one"}, "custom/thing", 1}, "two servers": {[]string{"one", "two"}, "custom/thing", 0}, "none": {nil, "custom/thing", 0},
	} {
		d := newStatelessScript(t, 1)
		d.servers(c.servers...)
		answer, sent, _ := d.ask(c.method, "")
		if sent != c.sent || strings.HasPrefix(answer, string(protocol.MethodNotFound)) != (c.sent == 0) {
			t.Errorf("%s: sent %d times, answered %q", name, sent, answer)
		}
	}
}

// When a client gets the first page of a list that changes silently, the server's pool is notified. Further pages do
// not notify it.
func TestListServedOnce(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.servers("one")
	first, _, served := d.ask("resources/list", "")
	if strings.Count(first, `"uri"`) != 10 || served != 1 {
		t.Errorf("first page: %d items, the pool was notified %d times; want 10 and 1", strings.Count(first, `"uri"`), served)
	}
	_, cursor, _ := strings.Cut(first, `"nextCursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	second, _, served := d.ask("resources/list", `"cursor":"`+cursor+`"`)
	if strings.Count(second, `"uri"`) != 5 || served != 0 {
		t.Errorf("second page: %d items, the pool was notified %d times; want 5 and 0", strings.Count(second, `"uri"`), served)
	}
}

// The servers log as verbosely as the most verbose request wants. One timer lowers the level when neither a running call
// nor a request since the previous check wants it anymore.
func TestLevelOfTheServers(t *testing.T) {
	d := newStatelessScript(t, 1)
	now := 0
	set := func(msg any) (levels []protocol.Level, timers int) {
		for _, e := range step(d.s, d.now, msg, nil) {
			if m, is := e.Msg.(message.SetSessionLevel); is {
				levels = append(levels, m.Level)
			}
			if w, is := e.Act.(kernel.Wake); is && w.Msg == any(levelDue{}) {
				if timers++; w.After != levelInterval {
					t.Errorf("the level is checked after %v, want %v", w.After, levelInterval)
				}
			}
		}
		return levels, timers
	}
	wants := func(what string, msg any, level protocol.Level, timers int) {
		t.Helper()
		now++
		levels, started := set(msg)
		if level == "-" && len(levels) != 0 || level != "-" && (len(levels) != 1 || levels[0] != level) || started != timers {
			t.Errorf("%s: levels %q, %d timers; want %q, %d", what, levels, started, level, timers)
		}
	}
	request := func(level string) message.StatelessRequest {
		return d.asking(now+1, form, `,"io.modelcontextprotocol/logLevel":"`+level+`"`, "", "")
	}
	ends := func() {
		for seq := range d.s.calls.All() {
			d.step(message.Done{Seq: seq, Frame: d.frame("%s", success)})
		}
	}
	wants("the first", request("error"), protocol.LevelError, 1)
	wants("less verbose", request("critical"), "-", 0)
	wants("more verbose", request("info"), protocol.LevelInfo, 0)
	wants("checked at once", levelDue{}, "-", 1)
	wants("calls run", levelDue{}, "-", 1)
	ends()
	wants("no call runs", levelDue{}, protocol.LevelNone, 0)
	wants("again", request("warning"), protocol.LevelWarning, 1)
	ends()
	wants("asked since the last check", levelDue{}, "-", 1)
	wants("not asked since", levelDue{}, protocol.LevelNone, 0)
}

// What is cached of a client is never used for another one.
func TestMemoOfClients(t *testing.T) {
	var m memo
	info := func(name string) []byte { return fmt.Appendf(nil, `{"name":%q,"version":"1"}`, name) }
	for range 2 {
		for _, name := range []string{"a", "b", "a", "ab"} {
			if got := m.clientName(info(name)); got != name+" 1" {
				t.Errorf("name %q, want %q", got, name+" 1")
			}
		}
		if got := m.clientName(nil); got != unnamed {
			t.Errorf("without a name: %q", got)
		}
	}
	long := func(size int) []byte { return fmt.Appendf(nil, "%*s", -size, info("long")) }
	for size, want := range map[int]bool{maxClientInfo: true, maxClientInfo + 1: false} {
		if got := m.clientName(long(size)); (got != unnamed) != want {
			t.Errorf("clientInfo of %d bytes: %q", size, got)
		}
	}
	m = memo{}
	key := func(remote, name string) string {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: remote}}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"`+name+`"}}}}`)
		return m.clientKey(x, nil)
	}
	for range 2 {
		for _, c := range [][2]string{{"127.0.0.1:5", "a"}, {"127.0.0.2:5", "a"}, {"127.0.0.1:5", "b"}, {"127.0.0.1:6", "b"}} {
			address, _, _ := strings.Cut(c[0], ":")
			if got, want := key(c[0], c[1]), address+`{"name":"`+c[1]+`"}`; got != want {
				t.Errorf("key %q, want %q", got, want)
			}
		}
	}
}

// While no request waits for a call, exactly the newest keptMessages notifications are kept for the next one.
func TestKeptNotifications(t *testing.T) {
	for _, n := range []int{keptMessages - 1, keptMessages, keptMessages + 3} {
		d := newStatelessScript(t, 1)
		state := d.parked(form, ``)
		for i := range n {
			d.step(message.Log{Seq: d.first(), Frame: d.frame(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":%d}}`, i)})
		}
		var data []string
		for _, e := range step(d.s, d.now, d.asking(2, form, `,"io.modelcontextprotocol/logLevel":"debug"`, state, accept), nil) {
			if a, is := e.Act.(reply.Notify); is {
				_, rest, _ := strings.Cut(string(a.Frame), `"data":`)
				data = append(data, strings.TrimRight(rest, "}"))
			}
		}
		if want := min(n, keptMessages); len(data) != want || data[0] != fmt.Sprint(n-want) || data[len(data)-1] != fmt.Sprint(n-1) {
			t.Errorf("of %d lines, %d are passed on: %v", n, len(data), data)
		}
	}
}

// A server's request during a method that permits none is refused, and the call goes on.
func TestQuestionsDuringOtherMethods(t *testing.T) {
	d := newStatelessScript(t, 1)
	d.servers("one")
	if _, sent, _ := d.ask("completion/complete", `"ref":{"type":"ref/resource","uri":"file:///1"},"argument":{"name":"a","value":"b"}`); sent != 1 {
		t.Fatal("not sent to the server")
	}
	var refused []message.ServerRequestResult
	for _, e := range step(d.s, d.now, message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(oneForm)}, nil) {
		if m, is := e.Msg.(message.ServerRequestResult); is {
			refused = append(refused, m)
		}
	}
	if len(refused) != 1 || !strings.Contains(string(refused[0].Error), `"code":-32602`) || d.s.calls.Len() != 1 {
		t.Errorf("answered %+v, %d calls run", refused, d.s.calls.Len())
	}
}

// A server request that its server has canceled is not sent to the client. The others are.
func TestWithdrawnQuestions(t *testing.T) {
	for key, want := range map[uint64]int{1: 1, 9: 2} { // number of questions left after the cancellation
		d := newStatelessScript(t, 1)
		state := d.parked(form, ``)
		d.step(message.ServerRequest{Seq: d.first(), Key: 2, Frame: d.frame(oneForm)})
		d.step(message.ServerRequestCanceled{Seq: d.first(), Key: key})
		var questions int
		for _, e := range step(d.s, d.now, d.asking(2, form, ``, state, `{}`), nil) {
			if a, is := e.Act.(reply.Answer); is {
				questions = strings.Count(string(a.Frame), `"elicitation/create"`)
			}
		}
		if questions != want {
			t.Errorf("after the cancellation of %d: asked %d questions, want %d", key, questions, want)
		}
	}
	d := newStatelessScript(t, 1)
	state := d.parked(form, ``)
	d.step(message.ServerRequestCanceled{Seq: d.first(), Key: 1})
	d.wants("nothing is open anymore", d.asking(2, form, ``, state, `{}`))
	if d.s.calls.Len() != 1 {
		t.Error("the call ended")
	}
}

// An answer that the client has sent in advance is used at once, so the client is not asked.
func TestEarlyAnswersReachTheServer(t *testing.T) {
	question := strings.Replace(oneForm, `"message":"?"`, `"message":"?","_meta":{"goblin-actor/key":"name"}`, 1)
	for key, early := range map[string]bool{"name": true, "other": false} {
		d := newStatelessScript(t, 1)
		m := d.asking(1, form, ``, "", "")
		raw := strings.Replace(string(m.Exchange.Frame.Raw), `"name":"one_ask"`, `"name":"one_ask","inputResponses":{"`+key+`":{"action":"decline"}}`, 1)
		m.Exchange.Frame, m.Exchange.Params = actortest.Request(t, raw)
		d.step(m)
		answered := 0
		for _, e := range step(d.s, d.now, message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame("%s", question)}, nil) {
			if r, is := e.Msg.(message.ServerRequestResult); is && string(r.Result) == `{"action":"decline"}` {
				answered++
			}
		}
		if v := d.s.calls.Held(d.first()); (answered == 1) != early || (len(v.questions) == 0) != early {
			t.Errorf("key %s: answered %d times, %d questions are open", key, answered, len(v.questions))
		}
	}
}

// Each round of questions has a state with its own number, and starts the time in which questions are collected
// (questionWindow) again.
func TestRoundsOfQuestions(t *testing.T) {
	d := newStatelessScript(t, 1)
	state := d.parked(form, ``)
	for round := uint32(1); round <= 3; round++ {
		opened, err := d.sealer.Open(state, d.now)
		if err != nil || opened.Round != round {
			t.Fatalf("round %d: state of round %d, %v", round, opened.Round, err)
		}
		d.states, d.timers = nil, nil
		d.step(d.asking(int(round)+1, form, ``, state, fmt.Sprintf(`{"q%d":{"action":"accept","content":{}}}`, round)))
		old := windowOver{d.first(), d.s.calls.Held(d.first()).timerGen}
		d.step(message.ServerRequest{Seq: d.first(), Key: 10 + uint64(round), Frame: d.frame(oneForm)})
		if d.step(old); len(d.states) != 0 {
			t.Fatal("the timer of an earlier round ended the window")
		}
		for _, timer := range d.timers {
			d.step(timer)
		}
		if len(d.states) != 1 {
			t.Fatalf("round %d: %d states were given out, want 1", round, len(d.states))
		}
		state = d.states[0]
	}
}

// A draining actor reports once that no client waits for it. Parked calls do not count, since their clients may never return.
func TestDrained(t *testing.T) {
	drained := func(d *statelessScript, msg any) (n int) {
		for _, e := range step(d.s, d.now, msg, nil) {
			if _, is := e.Msg.(message.Drained); is {
				n++
			}
		}
		return n
	}
	d := newStatelessScript(t, 1)
	if n := drained(d, message.DrainSession{}); n != 1 {
		t.Errorf("without calls: reported %d times", n)
	}
	d = newStatelessScript(t, 1)
	d.parked(form, ``)
	if n := drained(d, message.DrainSession{}); n != 1 {
		t.Errorf("with a parked call: reported %d times", n)
	}
	d = newStatelessScript(t, 1)
	d.step(d.asking(1, form, ``, "", ""))
	if n := drained(d, message.DrainSession{}); n != 0 {
		t.Errorf("with a running call: reported %d times", n)
	}
	d.wants("a new call", d.asking(2, form, ``, "", ""), "2: "+string(protocol.ShuttingDown))
	if n := drained(d, message.Done{Seq: d.first(), Frame: d.frame("%s", success)}) + drained(d, levelDue{}); n != 1 {
		t.Errorf("when the call has ended: reported %d times", n)
	}
}

// While the actor drains, a client may still send the answer that a parked call waits for, until no client waits
// anymore.
func TestRetryWhileDraining(t *testing.T) {
	d := newStatelessScript(t, 1)
	state := d.parked(form, ``)
	other := d.asking(5, form, ``, "", "")
	d.step(other)
	d.step(message.DrainSession{})
	if got := d.told(d.asking(2, form, ``, state, accept)); len(got) != 0 {
		t.Errorf("while another client waits: told %q, want the call to go on", got)
	}
	d = newStatelessScript(t, 1)
	state = d.parked(form, ``)
	d.step(message.DrainSession{})
	d.wants("drained", d.asking(2, form, ``, state, accept), "2: "+string(protocol.ShuttingDown))
}

// Requests on stdin and stdout wait for exactly as many servers as expected.
func TestRequestsWaitForServers(t *testing.T) {
	for settled := range 3 {
		s := newState(Options{Count: 1, Expect: 2, Limits: config.Default().Limits}, kernel.Reference{})
		var sources []catalog.Source
		for i := range 2 {
			sources = append(sources, catalog.Source{Server: &catalog.Server{Name: fmt.Sprint("s", i), Order: i, Rules: config.DefaultServer(), Settled: i < settled}})
		}
		x := &downstream.Exchange{Origin: downstream.Origin{Stdio: true}}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
		step(s, time.Unix(1000, 0), message.Published{Snapshot: catalog.Build(nil, sources, catalog.Naming{Namespace: config.Default().Namespace, PageSize: 10})}, nil)
		answered := false
		for _, e := range step(s, time.Unix(1000, 0), message.StatelessRequest{Exchange: x}, nil) {
			_, is := e.Act.(reply.Answer)
			answered = answered || is
		}
		if answered != (settled == 2) {
			t.Errorf("%d of 2 servers have settled: answered %v", settled, answered)
		}
	}
}

// The keys that a server may use consist of letters, digits and a few signs, and do not look like the gateway's own.
func TestKeyCharacters(t *testing.T) {
	for _, c := range "azAZ09_-." {
		if !isKey("x" + string(c)) {
			t.Errorf("%q is refused", c)
		}
	}
	for _, c := range "`{@[/:^, +*\x00ä" {
		if isKey("x" + string(c)) {
			t.Errorf("%q is accepted", c)
		}
	}
	for key, want := range map[string]bool{"q": true, "q1": false, "q12": false, "q1a": true, "qa": true, "Q1": true, "1": true, "a1": true, "q0": false, "q9": false} {
		if isKey(key) != want {
			t.Errorf("%q is valid: %v, want %v", key, !want, want)
		}
	}
}
