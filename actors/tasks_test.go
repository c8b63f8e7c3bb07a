package actors

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream/pipe"
)

const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"7"}}`

// taskServer returns a server of version 2025-11-25 that runs calls with a task member as task 7. tasks/result sends an elicitation.
// tasks/get also sends notifications about this task and an unknown one. tasks/cancel completes the task.
func taskServer() *actortest.Server {
	const task = `{"taskId":"7","status":"working","ttl":null}`
	s := &actortest.Server{Tools: []string{"dig"}, Tasks: true, Version: protocol.Version20251125}
	var waiting, token []byte
	notify := func(p *pipe.Peer, method, params string) {
		_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/` + method + `","params":{` + params + `}}`))
	}
	s.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
		var params protocol.Params
		_ = params.Scan(&f)
		if f.Method != protocol.MethodToolsCall && string(params.TaskID.Of(f.Raw)) != `"7"` {
			_ = p.Send(protocol.AppendError(nil, id, -32602, "no such task", nil))
			return
		}
		switch f.Method {
		case protocol.MethodToolsCall:
			if !rawjson.Member(f.Raw, f.Params, "task").Present() {
				_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
				return
			}
			token = params.ProgressToken.Of(f.Raw)
			_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"task":`+task+`,`+related+`}`)))
		case protocol.MethodTasksResult:
			waiting = id
			_ = p.Send([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"deeper?","requestedSchema":{},` + related + `}}`))
		case protocol.MethodTasksGet:
			notify(p, "tasks/status", `"taskId":"7","status":"working"`)
			notify(p, "progress", `"progressToken":`+string(token)+`,"progress":1,`+related)
			notify(p, "message", `"level":"info","data":"digging",`+related)
			notify(p, "tasks/status", `"taskId":"8","status":"working"`)
			_ = p.Send(protocol.AppendResult(nil, id, []byte(task)))
		case protocol.MethodTasksCancel:
			_ = p.Send(protocol.AppendResult(nil, id, []byte(task)))
			_ = p.Send(protocol.AppendResult(nil, waiting, []byte(`{"content":[],`+related+`}`)))
		}
	}
	return s
}

func initializeRequest(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + allCapabilities + `,"clientInfo":{"name":"t","version":"1"}}}`
}

func (h *stdioHarness) expect(line string, want ...string) {
	h.t.Helper()
	if got := h.send(line); strings.Join(got, "\n") != strings.Join(want, "\n") {
		h.t.Errorf("%s: got\n%s\nwant\n%s", line, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Task IDs of a legacy server are prefixed with the server's name for legacy clients. Everything else is passed on unchanged, but
// notifications about unknown tasks are dropped.
func TestLegacyTasks(t *testing.T) {
	const public = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"two/7"}}`
	inBubble(func(t *testing.T) {
		one, two := taskServer(), taskServer()
		h := startStdio(t, map[string]*actortest.Server{"one": one, "two": two}, nil)
		defer h.close()
		h.waitReady()
		if got := h.roundTrip(initializeRequest(protocol.Version20251125)); !strings.Contains(got, `"capabilities":{"tasks":{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}},`) {
			t.Errorf("initialize: %s", got)
		}
		h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		h.expect(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"two/7"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown task: two/7","data":{"code":"INVALID_PARAMS","server":null,"retryable":false}}}`)
		h.expect(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two_dig","arguments":{},"task":{"ttl":1000},"_meta":{"progressToken":"p"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"two/7","status":"working","ttl":null},`+public+`}}`)
		h.expect(`{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"two/7"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"deeper?","requestedSchema":{},`+public+`}}`)
		time.Sleep(2 * time.Minute) // the task has no deadline
		h.expect(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline",` + public + `}}`)
		if got := two.Answers(); len(got) != 1 || string(got[0].Raw) != `{"jsonrpc":"2.0","id":"q","result":{"action":"decline",`+related+`}}` {
			t.Errorf("the server got %d answers: %s", len(got), got[0].Raw)
		}
		h.expect(`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"two/7"}}`,
			`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"two/7","status":"working"}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,`+public+`}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"digging",`+public+`}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"taskId":"two/7","status":"working","ttl":null}}`)
		h.expect(`{"jsonrpc":"2.0","id":4,"method":"tasks/cancel","params":{"taskId":"two/7"}}`,
			`{"jsonrpc":"2.0","id":4,"result":{"taskId":"two/7","status":"working","ttl":null}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":[],`+public+`}}`)
		for _, id := range []string{"7", "one/7", "three/7", "two/", ""} {
			if got := h.roundTrip(fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"tasks/cancel","params":{"taskId":%q}}`, id)); !strings.Contains(got, "-32602") {
				t.Errorf("tasks/cancel %q: %s", id, got)
			}
		}
		got := h.send(`{"jsonrpc":"2.0","id":10,"method":"tasks/list"}`)
		if last := got[len(got)-1]; last != `{"jsonrpc":"2.0","id":10,"result":{"tasks":[{"taskId":"two/7","status":"working","ttl":null}]}}` {
			t.Errorf("tasks/list: %s", last)
		}
		if len(one.Received("tasks/get"))+len(one.Received("tasks/cancel")) != 0 {
			t.Error("the other server got requests about the task")
		}
		r := parseModern(t, h.roundTrip(modern(11, "tasks/get", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `,"taskId":"two/7"`)))
		if r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("tasks/get of a modern client: %+v", r)
		}
		h.roundTrip(modern(12, "tools/call", `{}`, `,"name":"one_dig","arguments":{},"task":{}`))
		if sent := string(one.Received("tools/call")[0].Raw); strings.Contains(sent, `"task"`) {
			t.Errorf("a modern client's call became a task: %s", sent)
		}
	})(t)
}

// Tasks end with their process. Pending tasks/result requests fail, and a task of the new process with the same ID is not
// confused with the old one.
func TestTasksOfALostServer(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := taskServer()
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		h.roundTrip(initializeRequest(protocol.Version20251125))
		h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_dig","task":{}}}`)
		h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"one/7"}}`) // the server's elicitation
		time.Sleep(time.Minute)
		server.Last().Close(io.EOF)
		time.Sleep(time.Minute)
		if got := strings.Join(h.received(), "\n"); !strings.Contains(got, `"id":2,"error":{"code":-310`) {
			t.Errorf("tasks/result: %s", got)
		}
		for _, want := range []string{"process that created it has ended", "Unknown task: one/7"} {
			if got := h.roundTrip(`{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"one/7"}}`); !strings.Contains(got, "-32602") || !strings.Contains(got, want) {
				t.Errorf("tasks/get: %s, want %s", got, want)
			}
		}
		h.expect(`{"jsonrpc":"2.0","id":4,"method":"tasks/list"}`, `{"jsonrpc":"2.0","id":4,"result":{"tasks":[]}}`)
		if n := len(server.Received("tasks/get")); n != 0 {
			t.Errorf("the new process got %d requests, want none", n)
		}
	})(t)
}

// Clients of versions without tasks cannot create or list any.
func TestNoTasksBefore20251125(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := taskServer()
		h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
		defer h.close()
		h.waitReady()
		if got := h.roundTrip(initializeRequest(protocol.Version20250618)); strings.Contains(got, `"tasks"`) {
			t.Errorf("initialize: %s", got)
		}
		h.expect(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"task":{},"name":"one_dig"}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		if got := h.roundTrip(`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`); !strings.Contains(got, "-32601") {
			t.Errorf("tasks/list: %s", got)
		}
	})(t)
}

// A task belongs to the session that created it. Other sessions cannot use its ID.
func TestTasksOfAnotherSession(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": taskServer()}, nil)
	mine, other := w.open("/mcp"), w.open("/mcp")
	say := func(session, body string) string { return w.do("POST", "/mcp", body, "Mcp-Session-Id", session).body }
	if got := say(mine, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_dig","task":{}}}`); !strings.Contains(got, `"taskId":"one/7"`) {
		t.Fatal(got)
	}
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		if got := say(other, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"taskId":"one/7"}}`); !strings.Contains(got, "-32602") {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := say(other, `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`); !strings.Contains(got, `{"tasks":[]}`) {
		t.Errorf("tasks/list: %s", got)
	}
	if got := say(mine, `{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"one/7"}}`); !strings.Contains(got, `"taskId":"one/7"`) {
		t.Errorf("in its own session: %s", got)
	}
}

// A client that does not support tasks calls a tool that requires them, on servers whose tasks/result deviates from the specification.
// The Python SDK 1 answers with an empty result if the task has failed. FastMCP 2 returns the task as the result and does not wait
// for its end.
func TestTaskResultDeviations(t *testing.T) {
	const (
		made   = `"result":{"task":{"taskId":"7","status":"working","pollInterval":500}}`
		stub   = `"result":{"_meta":{"modelcontextprotocol.io/task":{"taskId":"7","status":"working"}},"content":[],"isError":false}`
		early  = `"error":{"code":-32602,"message":"Task not completed yet"}`
		empty  = `"result":{` + related + `}`
		result = `"result":{"content":[{"type":"text","text":"dug"}]}`
		works  = `"result":{"taskId":"7","status":"working","pollInterval":500}`
		failed = `"result":{"taskId":"7","status":"failed","statusMessage":"boom"}`
	)
	tests := []struct {
		name       string
		call       string
		ends, gets []string // responses to tasks/result and tasks/get; the last one repeats
		want       string
	}{
		{"empty result of a failed task", made, []string{empty}, []string{failed}, `{"content":[{"type":"text","text":"boom"}],"isError":true}`},
		{"empty result of a completed task", made, []string{empty}, []string{`"result":{"taskId":"7","status":"completed"}`}, `{` + related + `}`},
		{"empty result, task unknown", made, []string{empty}, []string{`"error":{"code":-32602,"message":"gone"}`}, `{` + related + `}`},
		{"not completed yet", made, []string{early, early, result}, []string{works}, `{"content":[{"type":"text","text":"dug"}]}`},
		{"task in a result", stub, []string{early, result}, []string{works}, `{"content":[{"type":"text","text":"dug"}]}`},
		{"error for a failed task", made, []string{early}, []string{failed}, `"code":-32602,"message":"Task not completed yet"`},
	}
	for _, test := range tests {
		t.Run(test.name, inBubble(func(t *testing.T) {
			next := func(list *[]string) string {
				first := (*list)[0]
				if len(*list) > 1 {
					*list = (*list)[1:]
				}
				return first
			}
			server := &actortest.Server{Tools: []string{`{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`}, Tasks: true}
			server.Handle = func(p *pipe.Peer, f protocol.Frame, id []byte) {
				answer := test.call
				switch f.Method {
				case protocol.MethodTasksResult:
					answer = next(&test.ends)
				case protocol.MethodTasksGet:
					answer = next(&test.gets)
				}
				_ = p.Send([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,` + answer + `}`))
			}
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			defer h.close()
			h.initialize()
			got := h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_dig","arguments":{}}}`)
			time.Sleep(10 * time.Second)
			if got = append(got, h.received()...); len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q, want %s", got, test.want)
			}
			if n := len(server.Received("tools/call")) + len(server.Received("tasks/result")) + len(server.Received("tasks/get")); n > 12 {
				t.Errorf("the server got %d requests, want at most 12", n)
			}
		}))
	}
}
