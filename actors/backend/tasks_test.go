package backend

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// aboutTask returns a legacy client's request about a task, as a session would dispatch it.
func aboutTask(t *testing.T, method, id string) *message.Request {
	t.Helper()
	r := &message.Request{Server: "fake", Item: id, Caller: &message.Caller{Can: message.CanForm}}
	r.Frame = actortest.Frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q}}`, method, id))
	return r
}

func asTask(t *testing.T) *message.Request {
	r := legacyRequest(t, message.CanForm)
	r.AsTask = true
	return r
}

// tasked returns a ready backend and its server on stdio, which creates tasks with these ids for its calls and answers
// nothing else.
func tasked(t *testing.T, ids ...string) (*bench, *actortest.Server) {
	t.Helper()
	server := &actortest.Server{Tools: []string{"add"}, Tasks: true, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
		if f.Method == protocol.MethodToolsCall && len(ids) > 0 {
			_ = p.Send(protocol.AppendResult(nil, id, fmt.Appendf(nil, `{"task":{"taskId":%q}}`, ids[0])))
			ids = ids[1:]
		}
	}}
	b := start(t, server, cfg())
	synctest.Wait()
	return b, server
}

// A question that names a task is sent only to the client that waits for that task. A question that names none is not
// attributed to a call that waits for a task.
func TestQuestionsOfTasks(t *testing.T) {
	const named = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}},`
	tests := []struct {
		name, task string
		want       uint64 // the call whose client is asked; 0 = none
	}{
		{"an awaited task", "a", 1}, {"another awaited task", "b", 2}, {"a task without a waiting client", "c", 0}, {"no task", "", 3},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			b, server := tasked(t)
			defer b.stop()
			b.call(1, aboutTask(t, "tasks/result", "a"))
			b.call(2, aboutTask(t, "tasks/result", "b"))
			b.call(3, legacyRequest(t, message.CanForm))
			b.pool.Got()
			meta := ""
			if test.task != "" {
				meta = fmt.Sprintf(named, test.task)
			}
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{` + meta + `"message":"?"}}`))
			synctest.Wait()
			got := uint64(0)
			if _, asks := b.outcomes(); len(asks) == 1 {
				got = asks[0].Seq
			}
			if refused := len(server.Answers()) == 1; got != test.want || refused != (test.want == 0) {
				t.Errorf("%s: question for call %d, want %d; refused: %v", test.name, got, test.want, refused)
			}
			if _, lease := b.parkedOf(); test.task != "" && lease != 0 {
				t.Errorf("%s: the question counts as unattributed", test.name)
			}
		})
	}
}

// Notifications about a task are sent to the client that made the call, as long as the connection exists. Invalid task ids
// fail the call.
func TestNotificationsOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := tasked(t, "a", "", strings.Repeat("x", maxTaskID+1))
		defer b.stop()
		b.call(1, asTask(t))
		made := actortest.Of[message.TaskMade](b.holder)
		b.call(2, asTask(t))
		b.call(3, asTask(t))
		ends, _ := b.outcomes()
		if len(made) != 1 || made[0].Seq != 1 || made[0].ID != "a" || made[0].Home.Incarnation != 1 {
			t.Fatalf("tasks created: %+v", made)
		}
		if len(ends) != 2 || !strings.Contains(ends[0], "an id of 0 bytes") || !strings.Contains(ends[1], "an id of 1025 bytes") {
			t.Errorf("ends: %q", ends)
		}
		token := server.Received("tools/call")[0].IDBytes()
		for _, note := range []string{
			`"tasks/status","params":{"taskId":"a"}`, `"tasks/status","params":{"taskId":"b"}`, `"tasks/status"`,
			`"progress","params":{"progressToken":` + string(token) + `}`, `"progress","params":{"progressToken":99}`,
			`"message","params":{"data":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}`,
		} {
			_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/` + note[1:] + `}`))
		}
		synctest.Wait()
		notes := actortest.Of[message.TaskNotification](b.holder)
		var got []string
		for _, n := range notes {
			got = append(got, n.Server+"/"+n.ID+" "+n.Frame.MethodText())
		}
		if strings.Join(got, ", ") != "fake/a notifications/tasks/status, fake/a notifications/progress, fake/a notifications/message" {
			t.Errorf("notifications: %v", got)
		}
		home := made[0].Home
		r := aboutTask(t, "tasks/get", "a")
		r.Home = &home
		b.call(4, r)
		server.Last().Close(nil)
		time.Sleep(time.Minute)
		b.call(5, r)
		ends, _ = b.outcomes()
		if len(ends) != 2 || !strings.HasPrefix(ends[0], "4 BACKEND_DISCONNECTED") || !strings.HasPrefix(ends[1], "5 INVALID_PARAMS Unknown task") {
			t.Errorf("ends: %q", ends)
		}
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a"}}`))
		synctest.Wait()
		if notes := actortest.Of[message.TaskNotification](b.holder); len(notes) != 0 {
			t.Error("a notification of the new process was attributed to a task of the old one")
		}
	})
}

// The newest maxTasks tasks are remembered.
func TestTasksAreLimited(t *testing.T) {
	s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
	for i := range maxTasks + 10 {
		f := actortest.Frame(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"%d"}}}`, i))
		s.taskCreated(time.Time{}, uint32(i), &pending{request: &message.Request{Caller: &message.Caller{}}}, &f, nil)
	}
	if len(s.conn.tasks) != maxTasks || s.conn.tasks[0].id != "10" {
		t.Errorf("%d tasks, the oldest is %s; want %d and 10", len(s.conn.tasks), s.conn.tasks[0].id, maxTasks)
	}
}
