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

// jobs is a modern server that makes a task of each call; the n-th tasks/get from 0 is answered with the n-th of what is given,
// which begins with ! for an error number, the last one from then on.
func jobs(gets ...string) *actortest.Modern {
	n := 0
	return &actortest.Modern{
		Tools: []string{"add"},
		Handle: func(g actortest.Message) {
			g.Result(`{"resultType":"task","taskId":"t\u0031","status":"working","pollIntervalMs":2000}`)
		},
		HandleOther: func(g actortest.Message) bool {
			if g.Frame.M == protocol.MethodInitialize {
				return false
			}
			said := `{"resultType":"complete"}`
			if g.Frame.M == protocol.MethodTasksGet {
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

// A legacy client gets what has come of the task its call became, and hears meanwhile that it goes on.
func TestTasksAreFollowed(t *testing.T) {
	const working = `{"resultType":"complete","status":"working","statusMessage":"digging"}`
	tests := []struct {
		name, want string // how the call ends
		cancelled  bool   // the server is told that nobody waits any more
		gets       []string
	}{
		{"completed", `1 {"content":[{"type":"text","text":"7"}]}`, false, []string{working, `{"status":"completed","result":{"resultType":"complete","content":[],"structuredContent":7}}`}},
		{"completed without resultType", `1 {"content":[]}`, false, []string{working, `{"status":"completed","result":{"content":[]}}`}},
		{"failed", `1 {"code":-1,"message":"no"}`, false, []string{working, `{"status":"failed","error":{"code":-1,"message":"no"}}`}},
		{"cancelled by the server", "1 INTERNAL_ERROR the server canceled the task that it had created for the call", true, []string{working, `{"status":"cancelled"}`}},
		{"completed with nothing", "1 INTERNAL_ERROR the server's task ended, but its result is missing", true, []string{working, `{"status":"completed"}`}},
		{"completed with another task", "1 INTERNAL_ERROR the result of the server's task is invalid", false, []string{working, `{"status":"completed","result":{"resultType":"task","taskId":"2"}}`}},
		{"in a state nobody knows", "1 INTERNAL_ERROR the server reported an unknown status of the call's task: \"baroque\"", true, []string{working, `{"status":"baroque"}`}},
		{"lost", "1 INTERNAL_ERROR the server created a task for the call, but does not report its status", true, []string{working, "!-32602"}},
		{"three errors are borne", `1 {"content":[]}`, false, []string{working, "!-32603", "!-32603", "!-32603", `{"status":"completed","result":{"content":[]}}`}},
		{"four are not", "1 INTERNAL_ERROR the server created a task for the call, but does not report its status", true, []string{working, "!-32603"}},
		{"asks what its client cannot answer", "1 INTERNAL_ERROR the server asks for input that the client does not support", true,
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
					t.Fatalf("asked %d times before its time", n)
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
					t.Errorf("cancelled: %v", got)
				}
				if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
					t.Errorf("pool got %d Ended", n)
				}
				get := server.Received("tasks/get")[0]
				if raw := string(get.Frame.Raw); get.Out.Name != "t1" || !strings.Contains(raw, `"taskId":"t\u0031"`) || !strings.Contains(raw, `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}`) {
					t.Errorf("tasks/get for %q: %s", get.Out.Name, raw)
				}
			})
		})
	}
}

// A task's questions are put to its client once each, and the answers go back to it.
func TestQuestionsOfATaskThatIsFollowed(t *testing.T) {
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
		time.Sleep(10 * time.Minute) // it may take its time
		b.answer(asks[1], `{"action":"accept","content":{}}`, "")
		b.answer(asks[0], "", `{"code":-1,"message":"dismissed"}`)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_, asks = b.outcomes()
		if len(asks) != 1 || !strings.Contains(string(asks[0].Frame.Raw), `"message":"c"`) {
			t.Fatalf("then asked %d: %+v", len(asks), asks)
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
			t.Errorf("answered %q, want %q", sent, want)
		}
		if list, _ := b.parkedOf(); !slices.Equal(list, []string{"1 true", "1 false", "1 true", "1 false"}) {
			t.Errorf("the pool heard %v", list)
		}
	})
}

// A task outlives its connection; a call that is withdrawn takes it along.
func TestATaskOutlivesTheConnection(t *testing.T) {
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
			t.Fatalf("ends %q; asked %d times on %d connections", ends, before, server.Opened())
		}
		b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}})
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := server.Received("tasks/cancel"); len(got) != 1 || !strings.Contains(string(got[0].Frame.Raw), `"taskId":"t\u0031"`) || len(server.Received("tasks/get")) > before {
			t.Errorf("%d cancels, %d requests more", len(got), len(server.Received("tasks/get"))-before)
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

// A server that wants tasks for a tool is asked once more in the name of a client that has them, which it then has.
func TestAToolThatIsATaskOnly(t *testing.T) {
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
