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
	maxTasks  = 4096 // of one connection that are remembered, the newest; of older ones nothing is told any more
	maxTaskID = 1024 // bytes of a server's task id
)

// task is what a legacy server has made of a call. Its later notifications go to the client that made the call.
// MCP 2025-11-25, basic/utilities/tasks.
type task struct {
	id     string // the server's own
	token  uint32 // the progress token of the call, which stays valid: our id of it
	holder kernel.Reference
	ended  bool // its server has said so
}

// taskMade handles the result of a call that was requested as a task, and tells its holder if it became one.
func (s *state) taskMade(now time.Time, token uint32, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	id, ok := rawjson.Unquote(rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Result, "task"), "taskId").Of(f.Raw))
	switch {
	case !ok: // done at once, or nonsense: its client may judge
		return s.done(now, p, *f, out)
	case id == "" || len(id) > maxTaskID:
		return s.badAnswer(now, p, fmt.Sprintf("the server's task has an id of %d bytes, want 1 to %d", len(id), maxTaskID), out)
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

// namesTask reports whether the server's questions during the request name a task.
func (p *pending) namesTask() bool { return p.followed != nil || p.request.AboutTask() }

// waitsFor returns the id of the newest request that waits for the end of a task, or 0. raw is the task's id as
// JSON.
func (s *state) waitsFor(raw []byte) uint32 {
	newest := uint32(0)
	id, ok := rawjson.Unquote(raw)
	if !ok || id == "" {
		return 0
	}
	for n, p := range s.conn.pending {
		if p.own == nil && (p.followed != nil && p.followed.id == id || p.request.Frame.M == protocol.MethodTasksResult && p.request.Item == id) {
			newest = max(newest, n)
		}
	}
	return newest
}

// taskStatus passes a task's status to the client that owns the task.
func (s *state) taskStatus(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	return s.taskNote(rawjson.Member(e.Frame.Raw, e.Frame.Params, "taskId"), e, out)
}

// taskNote passes on a notification about the task whose id is at the span, if a client owns it.
func (s *state) taskNote(span rawjson.Span, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	id, ok := rawjson.Unquote(span.Of(e.Frame.Raw))
	i := slices.IndexFunc(s.conn.tasks, func(t task) bool { return t.id == id })
	if !ok || i < 0 {
		return out
	}
	s.noteTaskEnd(id, e.Frame.Raw, e.Frame.Params)
	return append(out, kernel.Tell(s.conn.tasks[i].holder, message.TaskNotification{Server: s.server.Name, ID: id, Frame: e.Frame}))
}

// taskProgress passes on the progress of a call that has become a task.
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
