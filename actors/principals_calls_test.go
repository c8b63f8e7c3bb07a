package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// relayingServer returns a modern server that requests input with its own state before it answers.
func relayingServer() *actortest.Modern {
	return &actortest.Modern{Tools: []string{"ask"}, Handle: func(g actortest.Message) {
		if g.Params.RequestState.Present() {
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
			return
		}
		g.Result(`{"resultType":"input_required","inputRequests":{"a":{` + elicit + `}},"requestState":"its own"}`)
	}}
}

// parkingServer returns a legacy server that sends an elicitation during each call and completes the call once it is
// answered.
func parkingServer() *actortest.Server {
	call := make(chan []byte, 64)
	return &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		call <- id
		_ = p.Send([]byte(`{"jsonrpc":"2.0","id":"q",` + elicit + `}`))
	}, HandleOther: func(p *pipe.Peer, o upstream.Outgoing) {
		var f protocol.Frame
		if f.Parse(o.Frame) == nil && f.Kind == protocol.KindResult {
			_ = p.Send(protocol.AppendResult(nil, <-call, []byte(`{"content":[]}`)))
		}
	}}
}

// S5.1.3: a requestState of another principal gets the same response as a forged one, for parked and relayed calls. The call of its
// owner continues.
func TestAttack35RequestStateOfAnother(t *testing.T) {
	modernServer := relayingServer()
	for name, w := range map[string]*httpHarness{
		"parked":  startHTTP(t, map[string]*actortest.Server{"one": parkingServer()}, withAuth),
		"relayed": startHTTP(t, oneTool(), withAuth, modernServer.Open),
	} {
		const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"q1":{"action":"accept","content":{}},"a":{"action":"accept","content":{}}}`
		first := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, call).body)
		if first.Result.RequestState == "" {
			t.Fatalf("%s: %+v", name, first)
		}
		state := fmt.Sprintf(`,"requestState":%q`, first.Result.RequestState)
		forged := w.modernAs("mallory", "tools/call", allCapabilities, call+accept+`,"requestState":"forged"`)
		for what, rest := range map[string]string{"": call, " of another tool": `,"name":"one_no"`} {
			got := w.modernAs("mallory", "tools/call", allCapabilities, rest+accept+state)
			if got != forged || !strings.Contains(got.body, "REQUEST_STATE_INVALID") {
				t.Errorf("%s%s: %+v, want %+v", name, what, got, forged)
			}
		}
		if got := w.do("POST", "/mcp", modern(3, "tools/call", allCapabilities, call+accept+state), modernHeaders("tools/call", call)...); got != forged {
			t.Errorf("%s, without a principal: %+v", name, got)
		}
		if got := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, call+accept+state).body); got.Result.ResultType != "complete" {
			t.Errorf("%s: the owner's retry: %+v", name, got)
		}
	}
}

// Attack 41: a principal loses the right to a tool while its call awaits input. The call does not continue.
func TestAttack41DemotedWithParkedCall(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": parkingServer(), "two": parkingServer()}, threeProjects)
	w.people.set("alice", projects("alpha", "beta"))
	const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"q1":{"action":"accept","content":{}}}`
	first := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, call).body)
	if first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	w.updatePrincipal(w.people.set("alice", projects("beta")))
	if got := w.modernAs("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)); !strings.Contains(got.body, "Tool not found: one_ask") {
		t.Errorf("the call continued: %s", got.body)
	}
	w.updatePrincipal(w.people.set("alice", projects("alpha")))
	if got := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)).body); got.Result.ResultType != "complete" {
		t.Errorf("with other rights that include the tool: %+v", got)
	}
	under := func(server string) func(*identity.Principal) {
		return func(p *identity.Principal) {
			p.Rights, p.Policy = "some", policy.Compile(config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{{Name: "some", Servers: []string{server}}}})
		}
	}
	w.updatePrincipal(w.people.set("alice", under("one")))
	if first = parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, call).body); first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	w.updatePrincipal(w.people.set("alice", under("two")))
	if got := w.modernAs("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)); !strings.Contains(got.body, "Tool not found: one_ask") {
		t.Errorf("the call continued with another role of the same name: %s", got.body)
	}
}

// A requestState is valid only with the arguments of its request.
func TestAttack36RequestStateWithOtherArguments(t *testing.T) {
	server := relayingServer()
	w := startHTTP(t, oneTool(), withAuth, server.Open)
	first := parseModern(t, w.modernAs("alice", "tools/call", allCapabilities, `,"name":"one_ask","arguments":{"a":1}`).body)
	again := fmt.Sprintf(`,"name":"one_ask","arguments":{"a":2},"requestState":%q,"inputResponses":{"a":{"action":"accept","content":{}}}`, first.Result.RequestState)
	if got := w.modernAs("alice", "tools/call", allCapabilities, again); !strings.Contains(got.body, "REQUEST_STATE_INVALID") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if n := len(server.Received("tools/call")); n != 1 {
		t.Errorf("the server got %d calls, want 1", n)
	}
}

// An expired requestState is invalid.
func TestAttack37RequestStateTooLate(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := relayingServer()
		h := openModern(t, server, Options{})
		defer h.close()
		h.waitReady()
		first := parseModern(t, h.roundTrip(modernCall(1, allCapabilities, "")))
		time.Sleep(10*time.Minute + time.Second)
		late := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"a":{"action":"accept","content":{}}}`, first.Result.RequestState)
		if got := h.roundTrip(modernCall(2, allCapabilities, late)); !strings.Contains(got, "REQUEST_STATE_INVALID") {
			t.Error(got)
		}
	})(t)
}

// modernTaskServer returns a modern server whose calls become task 7~x/y. It answers every client's requests about the task.
func modernTaskServer() *actortest.Modern {
	s := &actortest.Modern{Tools: []string{"dig"}, HTTP: true}
	s.Discover = func(g actortest.Message) bool {
		g.Result(`{"resultType":"complete","supportedVersions":["` + protocol.Version20260728 + `"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`)
		return true
	}
	s.Handle = func(g actortest.Message) { g.Result(`{"resultType":"task","taskId":"7~x/y","status":"working"}`) }
	s.Listen = func(g actortest.Message) {
		g.Notify("notifications/subscriptions/acknowledged", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}`,
			g.ID(), g.Params.Notifications.Of(g.Frame.Raw)))
	}
	s.HandleOther = func(g actortest.Message) bool {
		if id, _ := rawjson.Unquote(g.Params.TaskID.Of(g.Frame.Raw)); id != "7~x/y" {
			g.Error(-32602, "no such task", "")
			return true
		}
		g.Result(`{"resultType":"complete","taskId":"7~x/y","status":"working"}`)
		return true
	}
	return s
}

const tasksCapability = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// createTask starts a gateway and creates a task of alice's.
func createTask(t *testing.T) (w *httpHarness, server *actortest.Modern, id string) {
	t.Helper()
	server = modernTaskServer()
	w = startHTTP(t, oneTool(), withAuth, server.Open)
	got := w.modernAs("alice", "tools/call", tasksCapability, `,"name":"one_dig"`)
	_, rest, _ := strings.Cut(got.body, `"taskId":"`)
	id, _, _ = strings.Cut(rest, `"`)
	if !strings.HasPrefix(id, "one/7~x/y~") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return w, server, id
}

// checkTaskHidden checks that mallory gets the same response as for an unknown task, however mallory spells the ID of alice's task,
// and that alice can use it.
func checkTaskHidden(t *testing.T, method string) {
	w, server, id := createTask(t)
	for _, stolen := range []string{id, "one/7~x/y", "one/7~x/y~", id + "~" + id[strings.LastIndex(id, "~")+1:], id[:len(id)-1]} {
		got := w.modernAs("mallory", method, tasksCapability, fmt.Sprintf(`,"taskId":%q`, stolen))
		unknown := w.modernAs("mallory", method, tasksCapability, `,"taskId":"one/8"`)
		unknown.body = strings.Replace(unknown.body, "one/8", stolen, 1)
		if got != unknown || !strings.Contains(got.body, "Unknown task") {
			t.Errorf("%s of %s: %+v, want %+v", method, stolen, got, unknown)
		}
	}
	if n := len(server.Received(method)); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
	if got := w.modernAs("alice", method, tasksCapability, fmt.Sprintf(`,"taskId":%q`, id)); got.status != 200 || !strings.Contains(got.body, `"status":"working"`) {
		t.Errorf("%s of her own task: %d %s", method, got.status, got.body)
	}
	if got := w.modernAs("alice", method, tasksCapability, `,"taskId":"one/7~x/y"`); !strings.Contains(got.body, "Unknown task") {
		t.Errorf("%s by the server's own ID: %d %s", method, got.status, got.body)
	}
}

// S5.1.3: a client cannot query or cancel another principal's task.
func TestAttack38GetOfAnothersTask(t *testing.T)    { checkTaskHidden(t, "tasks/get") }
func TestAttack39CancelOfAnothersTask(t *testing.T) { checkTaskHidden(t, "tasks/cancel") }

// S5.1.3: subscribing to another principal's task gets the same response as subscribing to an unknown one.
func TestAttack40ListenToAnothersTask(t *testing.T) {
	w, _, id := createTask(t)
	acknowledged := func(who, task string) string {
		filter := fmt.Sprintf(`,"notifications":{"toolsListChanged":true,"taskIds":[%q]}`, task)
		s, _ := w.post("/mcp", modern(9, "subscriptions/listen", tasksCapability, filter), asUser(who, modernHeaders("subscriptions/listen", "")...)...)
		defer s.close()
		return s.data()
	}
	if got, want := acknowledged("mallory", id), acknowledged("mallory", "one/8"); got != want || strings.Contains(got, "taskIds") {
		t.Errorf("alice's task: %s\nan unknown task: %s", got, want)
	}
	if got := acknowledged("alice", id); !strings.Contains(got, `"taskIds":["`+id+`"]`) {
		t.Errorf("her own task: %s", got)
	}
}
