package backend

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

const tasksRequired = `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// jobs returns a modern server that creates a task for each call. It answers the n-th tasks/get, from 0, with the n-th entry,
// and further ones with the last entry. An entry that begins with ! is an error code.
func jobs(gets ...string) *actortest.Modern {
	n := 0
	return &actortest.Modern{
		Tools: []string{"add"},
		Handle: func(g actortest.Message) {
			g.Result(`{"resultType":"task","taskId":"t\u0031","status":"working","pollIntervalMs":2000}`)
		},
		HandleOther: func(g actortest.Message) bool {
			if g.Frame.Method == protocol.MethodInitialize {
				return false
			}
			said := `{"resultType":"complete"}`
			if g.Frame.Method == protocol.MethodTasksGet {
				said = gets[min(n, len(gets)-1)]
				n++
			}
			if code := 0; strings.HasPrefix(said, "!") {
				_, _ = fmt.Sscan(said[1:], &code)
				g.Error(code, "so it is", "")
				return true
			}
			g.Result(said)
			return true
		},
	}
}

// A legacy client gets the outcome of the task that was created for its call, and progress meanwhile.
func TestTasksAreFollowed(t *testing.T) {
	const working = `{"resultType":"complete","status":"working","statusMessage":"digging"}`
	tests := []struct {
		name, want string // how the call ends
		cancelled  bool   // tasks/cancel is sent
		gets       []string
	}{
		{"completed", `1 {"content":[{"type":"text","text":"7"}]}`, false, []string{working, `{"status":"completed","result":{"resultType":"complete","content":[],"structuredContent":7}}`}},
		{"completed without resultType", `1 {"content":[]}`, false, []string{working, `{"status":"completed","result":{"content":[]}}`}},
		{"failed", `1 {"code":-1,"message":"no"}`, false, []string{working, `{"status":"failed","error":{"code":-1,"message":"no"}}`}},
		{"canceled by the server", "1 INTERNAL_ERROR the server canceled the task that it had created for the call", true, []string{working, `{"status":"cancelled"}`}},
		{"completed without a result", "1 INTERNAL_ERROR the server's task ended, but its result is missing or invalid", true, []string{working, `{"status":"completed"}`}},
		{"completed with another task", "1 INTERNAL_ERROR the result of the server's task is invalid", false, []string{working, `{"status":"completed","result":{"resultType":"task","taskId":"2"}}`}},
		{"unknown status", "1 INTERNAL_ERROR the server reported an unknown status of the call's task: \"baroque\"", true, []string{working, `{"status":"baroque"}`}},
		{"the task is unknown", "1 INTERNAL_ERROR the server created a task for the call, but does not report its status", true, []string{working, "!-32602"}},
		{"three errors are tolerated", `1 {"content":[]}`, false, []string{working, "!-32603", "!-32603", "!-32603", `{"status":"completed","result":{"content":[]}}`}},
		{"four errors are not", "1 INTERNAL_ERROR the server created a task for the call, but does not report its status", true, []string{working, "!-32603"}},
		{"asks for input that the client does not support", "1 INTERNAL_ERROR the server asks for input that the client does not support", true,
			[]string{working, `{"status":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{}}}}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := jobs(test.gets...)
				b := modern(t, server)
				defer b.stop()
				b.pool.Got()
				b.call(1, legacyRequest(t, message.CanForm))
				time.Sleep(2*time.Second - time.Nanosecond)
				synctest.Wait()
				if n := len(server.Received("tasks/get")); n != 0 {
					t.Fatalf("%d polls before the pause was over", n)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				progress := actortest.Of[message.Progress](b.holder)
				if len(progress) != 1 || string(progress[0].Frame.ParamsBytes()) != `{"progressToken":0,"progress":1,"message":"digging"}` {
					t.Errorf("progress %+v", progress)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if ends, _ := b.outcomes(); len(ends) != 1 || !strings.HasPrefix(ends[0], test.want) {
					t.Errorf("got %q, want %s", ends, test.want)
				}
				if got := len(server.Received("tasks/cancel")) == 1; got != test.cancelled {
					t.Errorf("tasks/cancel was sent: %v, want %v", got, test.cancelled)
				}
				if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
					t.Errorf("pool got %d CallEnded, want 1", n)
				}
				get := server.Received("tasks/get")[0]
				if raw := string(get.Frame.Raw); get.Out.Name != "t1" || !strings.Contains(raw, `"taskId":"t\u0031"`) || !strings.Contains(raw, `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}`) {
					t.Errorf("tasks/get for %q: %s", get.Out.Name, raw)
				}
			})
		})
	}
}

// The client is asked each of a task's questions once, and the answers are sent to the server.
func TestQuestionsOfAFollowedTask(t *testing.T) {
	ask := func(keys ...string) string {
		var list []string
		for _, key := range keys {
			list = append(list, fmt.Sprintf(`%q:{"method":"elicitation/create","params":{"message":%q}}`, key, key))
		}
		return `{"status":"input_required","inputRequests":{` + strings.Join(list, ",") + `}}`
	}
	synctest.Test(t, func(t *testing.T) {
		server := jobs(ask("a", "b"), ask("b"), ask("b", "c"), `{"status":"completed","result":{"content":[]}}`)
		b := modern(t, server)
		defer b.stop()
		b.pool.Got()
		b.call(1, legacyRequest(t, message.CanForm))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, asks := b.outcomes()
		if len(asks) != 2 {
			t.Fatalf("%d questions", len(asks))
		}
		time.Sleep(10 * time.Minute) // the client may take a long time
		b.answer(asks[1], `{"action":"accept","content":{}}`, "")
		b.answer(asks[0], "", `{"code":-1,"message":"dismissed"}`)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_, asks = b.outcomes()
		if len(asks) != 1 || !strings.Contains(string(asks[0].Frame.Raw), `"message":"c"`) {
			t.Fatalf("%d further questions: %+v", len(asks), asks)
		}
		b.answer(asks[0], `{"action":"decline"}`, "")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if ends, _ := b.outcomes(); !slices.Equal(ends, []string{`1 {"content":[]}`}) {
			t.Errorf("ends %q", ends)
		}
		var sent []string
		for _, g := range server.Received("tasks/update") {
			sent = append(sent, string(g.Params.InputResponses.Of(g.Frame.Raw)))
		}
		if want := []string{`{"a":{"action":"cancel"},"b":{"action":"accept","content":{}}}`, `{"c":{"action":"decline"}}`}; !slices.Equal(sent, want) {
			t.Errorf("answers %q, want %q", sent, want)
		}
		if list, _ := b.parkedOf(); !slices.Equal(list, []string{"1 true", "1 false", "1 true", "1 false"}) {
			t.Errorf("pool got %v", list)
		}
	})
}

// A task survives its connection. A canceled call cancels its task.
func TestTaskSurvivesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := jobs(`{"status":"working"}`)
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanForm))
		server.Last().Close(io.EOF)
		time.Sleep(time.Minute)
		synctest.Wait()
		before := len(server.Received("tasks/get"))
		if ends, _ := b.outcomes(); len(ends) != 0 || before == 0 || server.Opened() != 2 {
			t.Fatalf("ends %q; %d polls on %d connections", ends, before, server.Opened())
		}
		b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := server.Received("tasks/cancel"); len(got) != 1 || !strings.Contains(string(got[0].Frame.Raw), `"taskId":"t\u0031"`) || len(server.Received("tasks/get")) > before {
			t.Errorf("%d tasks/cancel, %d further polls", len(got), len(server.Received("tasks/get"))-before)
		}
		b.pool.Got()
		b.call(2, legacyRequest(t, message.CanForm))
		b.backend.Tell(message.Stop{Reason: "restart"})
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.HasPrefix(ends[0], "2 SHUTTING_DOWN") {
			t.Errorf("ends %q", ends)
		}
	})
}

// If a modern server requires tasks for a tool, a legacy client's call is sent once more, with the tasks extension
// declared.
func TestToolThatRequiresTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := jobs(`{"status":"completed","result":{"content":[]}}`)
		follows := server.Handle
		server.Handle = func(g actortest.Message) {
			if strings.Contains(string(g.Frame.Raw), `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
				follows(g)
				return
			}
			g.Error(-32021, "needs tasks", tasksRequired)
		}
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, message.CanForm))
		time.Sleep(time.Minute)
		synctest.Wait()
		if ends, _ := b.outcomes(); !slices.Equal(ends, []string{`1 {"content":[]}`}) || len(server.Received("tools/call")) != 2 {
			t.Errorf("ends %q after %d calls", ends, len(server.Received("tools/call")))
		}
		server.Handle = func(g actortest.Message) { g.Error(-32021, "needs tasks", tasksRequired) }
		b.call(2, legacyRequest(t, message.CanForm))
		b.call(3, modernRequest(t, ""))
		ends, _ := b.outcomes()
		if len(ends) != 2 || len(server.Received("tools/call")) != 5 || !strings.Contains(ends[1], "-32021") {
			t.Errorf("ends %q after %d calls", ends, len(server.Received("tools/call")))
		}
	})
}
