package backend

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

func (b *bench) cancelCall(seq uint64) {
	b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: seq}})
	synctest.Wait()
}

// A task that a legacy server creates for a canceled call is canceled once. Other responses are ignored.
func TestTasksOfCancelledCalls(t *testing.T) {
	followed := func(t *testing.T) *message.Request {
		r := legacyRequest(t, 0)
		r.Followed()
		return r
	}
	plain := func(t *testing.T) *message.Request { return legacyRequest(t, 0) }
	const task = `"result":{"task":{"taskId":"a","status":"working"}}`
	for _, c := range []struct {
		name    string
		request func(*testing.T) *message.Request
		late    string
		want    int
	}{
		{"a client's task", asTask, task, 1},
		{"a task that the gateway asked for", followed, task, 1},
		{"a result", asTask, `"result":{"content":[]}`, 0},
		{"an error", asTask, `"error":{"code":-1,"message":"cancelled","task":{"taskId":"a"}}`, 0},
		{"without id", asTask, `"result":{"task":{"taskId":""}}`, 0},
		{"with an id too long", asTask, `"result":{"task":{"taskId":"` + strings.Repeat("x", maxTaskID+1) + `"}}`, 0},
		{"a task that was not requested", plain, task, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, server := tasked(t)
				defer b.stop()
				b.call(1, c.request(t))
				b.cancelCall(1)
				id := server.Received("tools/call")[0].IDBytes()
				for range 2 {
					_ = server.Last().Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, c.late))
					synctest.Wait()
				}
				got := server.Received("tasks/cancel")
				if len(got) != c.want || c.want > 0 && string(got[0].ParamsBytes()) != `{"taskId":"a"}` {
					t.Errorf("%d tasks/cancel sent, want %d: %+v", len(got), c.want, got)
				}
			})
		})
	}
}

// A task that a modern server on stdio creates for a canceled call is canceled once, too.
func TestModernTasksOfCancelledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late actortest.Message
		server := &actortest.Modern{Tools: []string{"add"}, Handle: func(g actortest.Message) { late = g }}
		b := modern(t, server)
		defer b.stop()
		b.call(1, legacyRequest(t, 0))
		b.cancelCall(1)
		late.Result(`{"resultType":"task","taskId":"a","status":"working"}`)
		synctest.Wait()
		got := server.Received("tasks/cancel")
		if len(got) != 1 {
			t.Fatalf("%d tasks/cancel sent, want 1", len(got))
		}
		if raw := string(got[0].Frame.Raw); !strings.Contains(raw, `"taskId":"a"`) || !strings.Contains(raw, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
			t.Errorf("sent %s", raw)
		}
	})
}

// A task whose call was canceled while the response was on its way is canceled on the connection that created it, and its
// notifications are dropped.
func TestDroppedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := tasked(t, "a")
		defer b.stop()
		b.call(1, asTask(t))
		b.holder.Got()
		for _, incarnation := range []uint64{0, 2, 1} {
			b.backend.Tell(message.DropTask{ID: "a", Incarnation: incarnation})
		}
		synctest.Wait()
		_ = server.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"cancelled"}}`))
		synctest.Wait()
		if n, notes := len(server.Received("tasks/cancel")), actortest.Of[message.TaskNotification](b.holder); n != 1 || len(notes) != 0 {
			t.Errorf("%d tasks/cancel sent; notifications %+v", n, notes)
		}
	})
}

// Only canceled calls for which a task may still be created are remembered, at most maxOrphans.
func TestOrphansAreLimited(t *testing.T) {
	s := &state{conn: conn{era: protocol.EraLegacy}}
	for id := range uint32(maxOrphans + 2) {
		r := &message.Request{Caller: &message.Caller{}, AsTask: true}
		r.Frame.Method = protocol.MethodToolsCall
		s.orphan(id, &pending{request: r})
		s.orphan(1000, &pending{request: &message.Request{Caller: &message.Caller{}}})
		s.orphan(1001, &pending{request: r, followed: &followed{}})
	}
	if len(s.conn.orphans) != maxOrphans || s.conn.orphans[0] != 2 {
		t.Errorf("%d orphans, the oldest is %d", len(s.conn.orphans), s.conn.orphans[0])
	}
}

// tasks/cancel is sent only to servers that support it.
func TestServersWithoutTasksCancel(t *testing.T) {
	for capabilities, want := range map[string]int{`{"tasks":{"cancel":{}}}`: 2, `{"tasks":{"requests":{}}}`: 0, `{}`: 0, ``: 0} {
		s := &state{life: life{phase: message.Ready}, conn: newConn(1)}
		s.conn.era, s.conn.info = protocol.EraLegacy, &message.ServerInfo{Capabilities: []byte(capabilities)}
		s.server.Timeout = 1
		out := s.cancelUnknown("a", nil)
		if len(out) != want {
			t.Errorf("%s: %d effects, want %d", capabilities, len(out), want)
		}
	}
}
