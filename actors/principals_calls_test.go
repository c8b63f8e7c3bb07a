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

// relaying is a modern server that asks, with a state of its own, before it answers.
func relaying() *actortest.Modern {
	return &actortest.Modern{Tools: []string{"ask"}, Handle: func(g actortest.Message) {
		if g.Params.RequestState.Present() {
			g.Result(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`)
			return
		}
		g.Result(`{"resultType":"input_required","inputRequests":{"a":{` + elicit + `}},"requestState":"its own"}`)
	}}
}

// askingOnce is a legacy server that asks before it answers.
func askingOnce() *actortest.Server {
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

// S5.1.3: Another's state is as one that was made up, whichever kind it is, and its call goes on.
func TestAttack35RequestStateOfAnother(t *testing.T) {
	modernServer := relaying()
	for name, w := range map[string]*web{
		"parked":  serveWeb(t, map[string]*actortest.Server{"one": askingOnce()}, withAuth),
		"relayed": serveWeb(t, oneTool(), withAuth, modernServer.Open),
	} {
		const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"q1":{"action":"accept","content":{}},"a":{"action":"accept","content":{}}}`
		first := parseModern(t, w.modernly("alice", "tools/call", allCapabilities, call).body)
		if first.Result.RequestState == "" {
			t.Fatalf("%s: %+v", name, first)
		}
		state := fmt.Sprintf(`,"requestState":%q`, first.Result.RequestState)
		forged := w.modernly("mallory", "tools/call", allCapabilities, call+accept+`,"requestState":"forged"`)
		for what, rest := range map[string]string{"": call, " of another tool": `,"name":"one_no"`} {
			got := w.modernly("mallory", "tools/call", allCapabilities, rest+accept+state)
			if got != forged || !strings.Contains(got.body, "REQUEST_STATE_INVALID") {
				t.Errorf("%s%s: %+v, want %+v", name, what, got, forged)
			}
		}
		if got := w.do("POST", "/mcp", modern(3, "tools/call", allCapabilities, call+accept+state), modernHeaders("tools/call", call)...); got != forged {
			t.Errorf("%s, by nobody in particular: %+v", name, got)
		}
		if got := parseModern(t, w.modernly("alice", "tools/call", allCapabilities, call+accept+state).body); got.Result.ResultType != "complete" {
			t.Errorf("%s: hers: %+v", name, got)
		}
	}
}

// Attack 41: a call asks something, and before the answer comes, who has made it loses the right to.
func TestAttack41DemotedWithAParkedCall(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": askingOnce(), "two": askingOnce()}, threeProjects)
	w.people.is("alice", projects("alpha", "beta"))
	const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"q1":{"action":"accept","content":{}}}`
	first := parseModern(t, w.modernly("alice", "tools/call", allCapabilities, call).body)
	if first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	w.changed(w.people.is("alice", projects("beta")))
	if got := w.modernly("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)); !strings.Contains(got.body, "Tool not found: one_ask") {
		t.Errorf("it goes on: %s", got.body)
	}
	w.changed(w.people.is("alice", projects("alpha")))
	if got := parseModern(t, w.modernly("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)).body); got.Result.ResultType != "complete" {
		t.Errorf("with other rights that show it: %+v", got)
	}
	under := func(server string) func(*identity.Principal) {
		return func(p *identity.Principal) {
			p.Rights, p.Policy = "some", policy.Compile(config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{{Name: "some", Servers: []string{server}}}})
		}
	}
	w.changed(w.people.is("alice", under("one")))
	if first = parseModern(t, w.modernly("alice", "tools/call", allCapabilities, call).body); first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	w.changed(w.people.is("alice", under("two")))
	if got := w.modernly("alice", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState)); !strings.Contains(got.body, "Tool not found: one_ask") {
		t.Errorf("it goes on with a role that has kept nothing but its name: %s", got.body)
	}
}

// A state goes with the request that it was given for, and with no other.
func TestAttack36RequestStateWithOtherArguments(t *testing.T) {
	server := relaying()
	w := serveWeb(t, oneTool(), withAuth, server.Open)
	first := parseModern(t, w.modernly("alice", "tools/call", allCapabilities, `,"name":"one_ask","arguments":{"a":1}`).body)
	again := fmt.Sprintf(`,"name":"one_ask","arguments":{"a":2},"requestState":%q,"inputResponses":{"a":{"action":"accept","content":{}}}`, first.Result.RequestState)
	if got := w.modernly("alice", "tools/call", allCapabilities, again); !strings.Contains(got.body, "REQUEST_STATE_INVALID") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if n := len(server.Received("tools/call")); n != 1 {
		t.Errorf("the server was asked %d times, want once", n)
	}
}

// A state that has expired is none.
func TestAttack37RequestStateTooLate(t *testing.T) {
	within(func(t *testing.T) {
		server := relaying()
		h := openModern(t, server, Options{})
		defer h.close()
		h.ready()
		first := parseModern(t, h.one(modernCall(1, allCapabilities, "")))
		time.Sleep(10*time.Minute + time.Second)
		late := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"a":{"action":"accept","content":{}}}`, first.Result.RequestState)
		if got := h.one(modernCall(2, allCapabilities, late)); !strings.Contains(got, "REQUEST_STATE_INVALID") {
			t.Error(got)
		}
	})(t)
}

// digging is a modern server whose calls become the task 7~x/y, of which it tells whoever asks.
func digging() *actortest.Modern {
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

const knowsTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// digs makes a task of alice's.
func digs(t *testing.T) (w *web, server *actortest.Modern, id string) {
	t.Helper()
	server = digging()
	w = serveWeb(t, oneTool(), withAuth, server.Open)
	got := w.modernly("alice", "tools/call", knowsTasks, `,"name":"one_dig"`)
	_, rest, _ := strings.Cut(got.body, `"taskId":"`)
	id, _, _ = strings.Cut(rest, `"`)
	if !strings.HasPrefix(id, "one/7~x/y~") {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return w, server, id
}

// tries has mallory do something with alice's task, in every writing of its id, and alice then.
func tries(t *testing.T, method string) {
	w, server, id := digs(t)
	for _, stolen := range []string{id, "one/7~x/y", "one/7~x/y~", id + "~" + id[strings.LastIndex(id, "~")+1:], id[:len(id)-1]} {
		got := w.modernly("mallory", method, knowsTasks, fmt.Sprintf(`,"taskId":%q`, stolen))
		unknown := w.modernly("mallory", method, knowsTasks, `,"taskId":"one/8"`)
		unknown.body = strings.Replace(unknown.body, "one/8", stolen, 1)
		if got != unknown || !strings.Contains(got.body, "Unknown task") {
			t.Errorf("%s of %s: %+v, want %+v", method, stolen, got, unknown)
		}
	}
	if n := len(server.Received(method)); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if got := w.modernly("alice", method, knowsTasks, fmt.Sprintf(`,"taskId":%q`, id)); got.status != 200 || !strings.Contains(got.body, `"status":"working"`) {
		t.Errorf("%s of hers: %d %s", method, got.status, got.body)
	}
	if got := w.modernly("alice", method, knowsTasks, `,"taskId":"one/7~x/y"`); !strings.Contains(got.body, "Unknown task") {
		t.Errorf("%s of hers by the server's own id: %d %s", method, got.status, got.body)
	}
}

// S5.1.3.
func TestAttack38TaskGetOfAnothers(t *testing.T)    { tries(t, "tasks/get") }
func TestAttack39TaskCancelOfAnothers(t *testing.T) { tries(t, "tasks/cancel") }

// S5.1.3: Of another's task nobody hears: listening to it is as listening to one that is not.
func TestAttack40ListenToAnothersTask(t *testing.T) {
	w, _, id := digs(t)
	hears := func(who, task string) string {
		filter := fmt.Sprintf(`,"notifications":{"toolsListChanged":true,"taskIds":[%q]}`, task)
		s, _ := w.post("/mcp", modern(9, "subscriptions/listen", knowsTasks, filter), by(who, modernHeaders("subscriptions/listen", "")...)...)
		defer s.close()
		return s.data()
	}
	if got, want := hears("mallory", id), hears("mallory", "one/8"); got != want || strings.Contains(got, "taskIds") {
		t.Errorf("hers: %s\none that is not: %s", got, want)
	}
	if got := hears("alice", id); !strings.Contains(got, `"taskIds":["`+id+`"]`) {
		t.Errorf("her own: %s", got)
	}
}
