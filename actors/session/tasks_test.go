package session

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

const legacyHasTasks = `{"tasks":{"requests":{"tools":{"call":{}}}}}`

func TestLegacyTasksOfAServer(t *testing.T) {
	for _, c := range []struct {
		version, capabilities string
		want                  bool
	}{
		{protocol.Version20251125, legacyHasTasks, true},
		{protocol.Version20250618, legacyHasTasks, false},
		{protocol.Version20260728, legacyHasTasks, false},
		{protocol.Version20251125, `{"tasks":{"list":{},"cancel":{}}}`, false},
		{protocol.Version20251125, `{"tasks":{"requests":{"tools":{"call":null}}}}`, false},
		{protocol.Version20251125, `{"tasks":true}`, false},
		{protocol.Version20251125, ``, false},
	} {
		if got := admission.HasLegacyTasks(&catalog.Server{Protocol: c.version, Capabilities: []byte(c.capabilities)}); got != c.want {
			t.Errorf("%s %s: %v", c.version, c.capabilities, got)
		}
	}
}

// taskScript is a 2025-11-25 session with tasks of a server named "one".
type taskScript struct {
	t *testing.T
	s *state
}

func newTaskScript(t *testing.T) *taskScript {
	s := newState(Options{ID: "session", Transport: "http"}, kernel.Reference{})
	s.client.initialized, s.client.ready, s.client.version, s.client.path = true, true, protocol.Version20251125, "/mcp"
	s.catalog.view = actortest.View(t, catalog.Server{Name: "one", Capabilities: []byte(legacyHasTasks), Protocol: protocol.Version20251125})
	return &taskScript{t, s}
}

func (k *taskScript) step(msg any) []kernel.Effect { return step(k.s, time.Unix(1000, 0), msg, nil) }

// ask sends a request and returns its immediate answer ("" = none) and the calls that were dispatched.
func (k *taskScript) ask(line string) (answered string, sent []message.Dispatch) {
	k.t.Helper()
	x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
	x.Frame, x.Params = actortest.Request(k.t, line)
	return k.sort(k.step(message.Inbound{Exchange: x}))
}

func (*taskScript) sort(effects []kernel.Effect) (answered string, sent []message.Dispatch) {
	for _, e := range effects {
		if d, ok := e.Msg.(message.Dispatch); ok {
			sent = append(sent, d)
		}
		if a, ok := e.Act.(reply.Answer); ok {
			answered = string(a.Frame)
		}
	}
	return answered, sent
}

// result gives a call the server's answer and returns the client's.
func (k *taskScript) result(seq uint64, member string) string {
	k.t.Helper()
	done := message.Done{Seq: seq}
	done.Frame = actortest.Frame(k.t, `{"jsonrpc":"2.0","id":5,`+member+`}`)
	answered, _ := k.sort(k.step(done))
	return answered
}

// make turns a call into the task with that id.
func (k *taskScript) make(id string) {
	k.t.Helper()
	h := &heldCall{}
	h.Seq, h.Server = k.s.calls.Next(), "one"
	k.s.calls.Hold(time.Unix(1000, 0), h, nil)
	k.step(message.TaskMade{Seq: h.Seq, ID: id})
	delete(k.s.calls.All(), h.Seq)
}

// A session keeps its newest tasks up to the limit.
func TestTasksOfASessionAreBounded(t *testing.T) {
	k := newTaskScript(t)
	for i := range maxTasks + 2 {
		k.make(fmt.Sprint(i))
	}
	for id, want := range map[string]bool{"one/0": false, "one/1": false, "one/2": true, fmt.Sprint("one/", maxTasks+1): true} {
		answered, sent := k.ask(`{"jsonrpc":"2.0","id":"` + id + `","method":"tasks/get","params":{"taskId":"` + id + `"}}`)
		if known := len(sent) == 1; known != want || strings.Contains(answered, "-32602") == want {
			t.Errorf("%s: known %v, answered %s", id, known, answered)
		}
	}
	if len(k.s.tasks.known) != maxTasks {
		t.Errorf("%d tasks are kept", len(k.s.tasks.known))
	}
}

// A task keeps the progress token of its call as long as the session lasts, so a token that is too long is not kept.
func TestLongTaskTokenIsNotKept(t *testing.T) {
	k := newTaskScript(t)
	for size, want := range map[int]int{0: 0, maxTaskToken: maxTaskToken, maxTaskToken + 1: 0} {
		h := &heldCall{}
		h.Call = call.Call{Seq: k.s.calls.Next(), Server: "one", Token: bytes.Repeat([]byte{'7'}, size)}
		k.s.calls.Hold(time.Unix(1000, 0), h, nil)
		k.step(message.TaskMade{Seq: h.Seq, ID: "endless"})
		if got := len(k.s.tasks.known["one/endless"].token); got != want {
			t.Errorf("of a token of %d bytes %d are kept, want %d", size, got, want)
		}
	}
}

// tasks/list queries each task on its page, leaves out those without an answer, and forgets those that no longer exist.
func TestListTasks(t *testing.T) {
	k := newTaskScript(t)
	for i := range taskPage + 2 {
		k.make(fmt.Sprint(i))
	}
	answered, sent := k.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`)
	if answered != "" || len(sent) != taskPage {
		t.Fatalf("answered %q, %d queries", answered, len(sent))
	}
	for i, d := range sent {
		if got := string(d.Request.Frame.Raw); got != fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"tasks/get","params":{"taskId":"%d"}}`, i) {
			t.Fatalf("query %d: %s", i, got)
		}
		switch i {
		case 0, taskPage - 1:
			answered = k.result(d.Call.Seq, fmt.Sprintf(`"result": {"taskId":"%d","status":"working"} `, i))
		case 1:
			answered = k.result(d.Call.Seq, `"error":{"code":-32602,"message":"expired"}`)
		case 2:
			answered, _ = k.sort(k.step(message.Failed{Seq: d.Call.Seq, Fault: &protocol.Fault{Name: protocol.ServerUnavailable}}))
		default:
			answered = k.result(d.Call.Seq, `"result":[]`)
		}
	}
	want := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"one/0","status":"working"},{"taskId":"one/%d","status":"working"}],"nextCursor":"%d"}}`, taskPage-1, taskPage)
	if answered != want {
		t.Errorf("got  %s\nwant %s", answered, want)
	}
	if k.s.tasks.known["one/1"] != nil || k.s.tasks.known["one/2"] == nil || k.s.calls.Len() != 0 {
		t.Errorf("kept: the removed task %v, the task whose query failed %v; %d calls are left", k.s.tasks.known["one/1"] != nil, k.s.tasks.known["one/2"] != nil, k.s.calls.Len())
	}
	if _, sent = k.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/list","params":{"cursor":"%d"}}`, taskPage)); len(sent) != 2 {
		t.Errorf("the second page: %d queries, want 2", len(sent))
	}
	for _, bad := range []string{`"x"`, `""`, `"-1"`} {
		if answered, _ := k.ask(`{"jsonrpc":"2.0","id":3,"method":"tasks/list","params":{"cursor":` + bad + `}}`); !strings.Contains(answered, "-32602") {
			t.Errorf("cursor %s: %s", bad, answered)
		}
	}
	k.s.limits.MaxInFlightPerClient = 1
	for range 2 {
		answered, _ = k.ask(`{"jsonrpc":"2.0","id":4,"method":"tasks/list"}`)
	}
	if !strings.Contains(answered, "OVERLOADED") {
		t.Errorf("a tasks/list beyond the limit: %s", answered)
	}
	silent := step(k.s, time.Unix(1000, 0).Add(time.Hour), k.s.calls.Timer(), nil)
	if answered, _ := k.sort(silent); !strings.Contains(answered, `{"tasks":[]}`) || k.s.calls.Len() != 0 {
		t.Errorf("servers that do not answer: %s; %d calls are left", answered, k.s.calls.Len())
	}
}

// A tasks/result request has no idle timeout after it is written.
func TestTasksResultIsPatient(t *testing.T) {
	k := newTaskScript(t)
	k.make("7")
	k.s.catalog.view.Servers()[0].Rules.Timeout, k.s.catalog.view.Servers()[0].Rules.MaxTimeout, k.s.catalog.view.Servers()[0].Rules.Queue.Timeout = time.Minute, time.Hour, time.Second
	_, sent := k.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"one/7"}}`)
	h := k.s.calls.Held(sent[0].Call.Seq)
	if at := h.Deadline(); !at.Equal(time.Unix(1000, 0).Add(time.Minute + time.Second)) {
		t.Errorf("before it is written, the deadline is %v", at)
	}
	k.step(message.RequestWritten{Seq: sent[0].Call.Seq})
	if at := h.Deadline(); !at.Equal(time.Unix(1000, 0).Add(time.Hour)) {
		t.Errorf("after it is written, the deadline is %v", at)
	}
}

// A call is sent as a task of 2025-11-25 if the server supports tasks and a client of that version requests one, or if the tool
// requires a task and the gateway requests it on the client's behalf.
func TestPrepareTask(t *testing.T) {
	has := &catalog.Server{Name: "one", Capabilities: []byte(legacyHasTasks), Protocol: protocol.Version20251125}
	none := &catalog.Server{Name: "two", Capabilities: []byte(`{}`), Protocol: protocol.Version20251125}
	required := []byte(`{"name":"a","execution":{"taskSupport":"required"}}`)
	optional := []byte(`{"name":"a","execution":{"taskSupport":"optional"}}`)
	const plain, asks = `{"name":"a"}`, `{"name":"a","task":{"ttl":1}}`
	for _, c := range []struct {
		name, version  string
		server         *catalog.Server
		tool           []byte
		params, sent   string
		asTask, follow bool
	}{
		{"asked for", protocol.Version20251125, has, optional, asks, asks, true, false},
		{"not asked for", protocol.Version20251125, has, optional, plain, plain, false, false},
		{"not asked for, the tool requires a task", protocol.Version20251125, has, required, plain, `{"task":{},"name":"a"}`, false, true},
		{"asked for by a client without tasks", protocol.Version20250618, has, optional, asks, plain, false, false},
		{"asked for by a client without tasks, the tool requires a task", protocol.Version20250618, has, required, asks, `{"task":{},"name":"a"}`, false, true},
		{"asked for, the server has no tasks", protocol.Version20251125, none, required, asks, asks, false, false},
	} {
		r := &message.Request{Caller: &message.Caller{}}
		r.Frame, r.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+c.params+`}`)
		r.Target = r.Params.Name
		s := &state{client: client{version: c.version}}
		s.prepareTask(r, admission.Target{Server: c.server, Entry: &catalog.Entry{Source: c.tool}})
		if got := string(r.Frame.ParamsBytes()); got != c.sent || r.AsTask != c.asTask || r.Follow != c.follow || string(r.Target.Of(r.Frame.Raw)) != `"a"` {
			t.Errorf("%s: sent %s, a task: %v, followed: %v", c.name, got, r.AsTask, r.Follow)
		}
	}
}

// If a call ends before its task is reported, the task is dropped at the connection that created it.
func TestTaskReportedAfterItsCall(t *testing.T) {
	k := newTaskScript(t)
	out := k.step(message.TaskMade{Seq: 99, ID: "7", Home: message.TaskOrigin{Incarnation: 3}})
	if len(out) != 1 || out[0].Msg != (message.DropTask{ID: "7", Incarnation: 3}) || len(k.s.tasks.known) != 0 {
		t.Errorf("effects %+v, tasks %v", out, k.s.tasks.known)
	}
}

// The queries of a tasks/list do not displace another request with the same id: it can still be canceled.
func TestListTasksUnderAnIDInUse(t *testing.T) {
	k := newTaskScript(t)
	k.make("7")
	_, first := k.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"one/7"}}`)
	_, looks := k.ask(`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`)
	k.result(looks[0].Call.Seq, `"result":{"taskId":"7","status":"working"}`)
	k.ask(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if k.s.calls.Held(first[0].Call.Seq) != nil {
		t.Error("the request continues after its cancellation")
	}
}
