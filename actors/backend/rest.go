package backend

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// mayRest reports to the pool that nothing would be lost with the connection. A task in a process would be: its
// client may ask for the result much later. A server with a URL keeps its tasks.
func (s *state) mayRest(out []kernel.Effect) []kernel.Effect {
	busy := len(s.conn.byCall)+len(s.carried.rounds)+len(s.conn.headerRetries) > 0 ||
		s.link.ownsServer && slices.ContainsFunc(s.conn.tasks, func(t task) bool { return !t.ended })
	if busy {
		return out
	}
	return append(out, kernel.Tell(s.pool, message.BackendIdle{Backend: s.self}))
}

// noteTaskEnd notes that a task has ended if the object, which the server sent about it, says so.
func (s *state) noteTaskEnd(id string, raw []byte, object rawjson.Span) {
	status, _ := rawjson.Unquote(rawjson.Member(raw, object, "status").Of(raw))
	switch status {
	case "completed", "failed", "cancelled":
		s.endTask(id)
	}
}

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
	switch p.request.Frame.M {
	case protocol.MethodTasksResult:
		s.endTask(p.request.Item)
	case protocol.MethodTasksGet, protocol.MethodTasksCancel:
		s.noteTaskEnd(p.request.Item, f.Raw, f.Result)
	}
}
