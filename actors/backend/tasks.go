package backend

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

const (
	maxTasks  = 4096 // newest tasks of a connection that are remembered; notifications about older ones are dropped
	maxTaskID = 1024 // maximum length of a server's task id, in bytes
)

// task is a task that a legacy server has created for a call on the client's request. Its notifications go to that
// client. MCP 2025-11-25, basic/utilities/tasks.
type task struct {
	id     string // given by the server
	token  uint32 // the call's progress token, which stays valid; it is the gateway's id of the call
	holder kernel.Reference
	ended  bool // the server has reported its end
}

// taskCreated handles the result of a call that was requested as a task, and notifies its holder if there is a task.
func (s *state) taskCreated(now time.Time, token uint32, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	id, ok := rawjson.Unquote(rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Result, "task"), "taskId").Of(f.Raw))
	switch {
	case !ok: // not a task, so the client gets the result as it is
		return s.done(now, p, *f, out)
	case id == "" || len(id) > maxTaskID:
		return s.badAnswer(now, p, fmt.Sprintf("the server's task has an id of %d bytes, expected 1 to %d", len(id), maxTaskID), out)
	}
	s.conn.tasks = slices.DeleteFunc(s.conn.tasks, func(t task) bool { return t.id == id })
	if len(s.conn.tasks) >= maxTasks {
		s.conn.tasks = slices.Delete(s.conn.tasks, 0, 1)
	}
	s.conn.tasks = append(s.conn.tasks, task{id: id, token: token, holder: p.call.Holder})
	out = append(out, kernel.Tell(p.call.Holder, message.TaskMade{Seq: p.call.Seq, ID: id, Home: message.TaskOrigin{Backend: s.self, Incarnation: uint64(s.conn.incarnation)}}))
	return s.done(now, p, *f, out)
}

// taskGone reports whether the requested task ended with the process that created it. A server with a URL may have
// kept its tasks.
func (s *state) taskGone(r *message.Request) bool {
	return s.link.ownsServer && r.Home != nil && *r.Home != message.TaskOrigin{Backend: s.self, Incarnation: uint64(s.conn.incarnation)}
}

// namesTask reports whether questions that the server asks during the request name a task.
func (p *pending) namesTask() bool { return p.followed != nil || p.request.AboutTask() }

// waitsFor returns the id of the newest request that waits for the end of a task, or 0. The parameter raw is the task's id
// as JSON.
func (s *state) waitsFor(raw []byte) uint32 {
	newest := uint32(0)
	id, ok := rawjson.Unquote(raw)
	if !ok || id == "" {
		return 0
	}
	for n, p := range s.conn.pending {
		if p.own == nil && (p.followed != nil && p.followed.id == id || p.request.Frame.Method == protocol.MethodTasksResult && p.request.Item == id) {
			newest = max(newest, n)
		}
	}
	return newest
}

// taskStatus forwards a task's status to the client that owns the task.
func (s *state) taskStatus(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	return s.taskNote(rawjson.Member(e.Frame.Raw, e.Frame.Params, "taskId"), e, out)
}

// taskNote forwards a notification about the task whose id is at the span, if a client owns it.
func (s *state) taskNote(span rawjson.Span, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	id, ok := rawjson.Unquote(span.Of(e.Frame.Raw))
	i := slices.IndexFunc(s.conn.tasks, func(t task) bool { return t.id == id })
	if !ok || i < 0 {
		return out
	}
	s.noteTaskEnd(id, e.Frame.Raw, e.Frame.Params)
	return append(out, kernel.Tell(s.conn.tasks[i].holder, message.TaskNotification{Server: s.server.Name, ID: id, Frame: e.Frame}))
}

// taskProgress forwards progress with the token of a call whose response was a task. The task belongs to the client, or the
// gateway follows it.
func (s *state) taskProgress(token uint32, e *upstream.Received, span rawjson.Span, out []kernel.Effect) []kernel.Effect {
	if p := s.followedBy(token); p != nil {
		p.followed.reported = true
		return append(out, kernel.Tell(p.call.Holder, message.Progress{
			Seq: p.call.Seq, Frame: e.Frame, Token: span, Behind: s.isBehind(p, &e.Frame, e.Frame.Params),
		}))
	}
	i := slices.IndexFunc(s.conn.tasks, func(t task) bool { return t.token == token })
	if i < 0 {
		return out
	}
	return append(out, kernel.Tell(s.conn.tasks[i].holder, message.TaskNotification{Server: s.server.Name, ID: s.conn.tasks[i].id, Frame: e.Frame}))
}

// noteTaskEnd records that a task has ended, if the status in the server's task object says so.
func (s *state) noteTaskEnd(id string, raw []byte, object rawjson.Span) {
	status, _ := rawjson.Unquote(rawjson.Member(raw, object, "status").Of(raw))
	switch status {
	case "completed", "failed", "cancelled":
		s.endTask(id)
	}
}

// endTask records that a task has ended.
func (s *state) endTask(id string) {
	if i := slices.IndexFunc(s.conn.tasks, func(t task) bool { return t.id == id }); i >= 0 {
		s.conn.tasks[i].ended = true
	}
}

// learnTaskEnd checks the response to a request about a task for the task's end.
func (s *state) learnTaskEnd(p *pending, f *protocol.Frame) {
	if len(s.conn.tasks) == 0 || p.request == nil {
		return
	}
	switch p.request.Frame.Method {
	case protocol.MethodTasksResult:
		s.endTask(p.request.Item)
	case protocol.MethodTasksGet, protocol.MethodTasksCancel:
		s.noteTaskEnd(p.request.Item, f.Raw, f.Result)
	}
}
