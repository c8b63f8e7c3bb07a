package backend

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// maxOrphans is how many abandoned calls are remembered, the newest ones.
const maxOrphans = 64

// withdraw cancels a call. Its place is free at once and a late response is ignored.
func (s *state) withdraw(now time.Time, m message.CancelSent, out []kernel.Effect) []kernel.Effect {
	for i, h := range s.carried.unexecuted {
		if h.Call == m.Call {
			s.carried.unexecuted = append(s.carried.unexecuted[:i], s.carried.unexecuted[i+1:]...)
			return append(out, kernel.Tell(s.pool, message.CallEnded{Backend: s.self, Call: m.Call}))
		}
	}
	if q := s.carried.rounds[m.Call]; q != nil {
		s.forgetRound(q)
		return s.stopWhenDrained(now, append(s.cancelTask(q, out), s.endedCall(m.Call)))
	}
	for i, p := range s.conn.headerRetries {
		if p.call == m.Call {
			s.conn.headerRetries = slices.Delete(s.conn.headerRetries, i, i+1)
			return s.stopWhenDrained(now, append(out, s.endedCall(m.Call)))
		}
	}
	id, ok := s.conn.byCall[m.Call]
	if !ok {
		return out
	}
	p := s.conn.pending[id]
	if len(s.conn.cancelled) >= maxCancelled {
		out = s.declineQuestions(id, out)
	}
	asks := s.takeQuestions(id)
	s.remove(id, p)
	s.orphan(id, p)
	out = s.dropFollowed(p, append(out, s.endedCall(m.Call)))
	if len(asks) > 0 {
		return s.stopWhenDrained(now, s.cancelWithQuestions(id, asks, m.Reason, out))
	}
	return s.stopWhenDrained(now, s.cancelRequest(id, m.Reason, out))
}

// cancelRequest tells the server that a response is no longer wanted. For a modern server over HTTP, closing the
// response says that alone. MCP 2026-07-28, basic/patterns/cancellation.
func (s *state) cancelRequest(id uint32, reason string, out []kernel.Effect) []kernel.Effect {
	if s.conn.era != protocol.EraModern || !s.link.exchanges {
		out = s.sayCancelled(id, reason, out)
	}
	return append(out, kernel.Act(giveUp{uint64(id)}))
}

// cancelAll cancels all calls at a legacy server over HTTP, since the end of the connection does not cancel them
// (MCP 2025-11-25, basic/transports, sending messages). It does for a process, and the end of a response does for
// a modern server.
func (s *state) cancelAll(reason string, out []kernel.Effect) []kernel.Effect {
	if !s.conn.open || s.link.ownsServer || s.conn.era != protocol.EraLegacy {
		return out
	}
	for _, id := range slices.Sorted(maps.Values(s.conn.byCall)) {
		if s.conn.pending[id].followed == nil { // the task goes on without a client
			out = s.sayCancelled(id, reason, out)
		}
	}
	return out
}

func (s *state) sayCancelled(id uint32, reason string, out []kernel.Effect) []kernel.Effect {
	params := append([]byte(`{"requestId":`), strconv.AppendUint(nil, uint64(id), 10)...)
	if reason != "" {
		params = append(append(params, `,"reason":`...), rawjson.Quote(reason)...)
	}
	return s.notify(protocol.NotificationCancelled, append(params, '}'), out)
}

// Servers may make a task of a call that was given up before they hear of that. Nobody will ever ask for such a task, so it
// is cancelled; notifications/cancelled does not reach tasks (MCP 2025-11-25, basic/utilities/cancellation). Where the end of
// the response is what tells the server (HTTP), its answer is not heard any more, and the task is left to its ttl.

// orphan remembers an abandoned call whose server may still create a task for it.
func (s *state) orphan(id uint32, p *pending) {
	r := p.request
	if r.Frame.M != protocol.MethodToolsCall || p.followed != nil || s.conn.era != protocol.EraModern && !r.AsTask && !r.Follow {
		return
	}
	if len(s.conn.orphans) >= maxOrphans {
		s.conn.orphans = slices.Delete(s.conn.orphans, 0, 1)
	}
	s.conn.orphans = append(s.conn.orphans, id)
}

// orphaned handles a response that no call waits for. If it created a task for an abandoned call, the task is
// cancelled.
func (s *state) orphaned(id uint32, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	i := slices.Index(s.conn.orphans, id)
	if i < 0 || f.Kind != protocol.KindResult {
		return out
	}
	s.conn.orphans = slices.Delete(s.conn.orphans, i, i+1)
	task := f.Result
	if s.conn.era == protocol.EraLegacy {
		task = rawjson.Member(f.Raw, f.Result, "task")
	}
	if own, ok := rawjson.Unquote(rawjson.Member(f.Raw, task, "taskId").Of(f.Raw)); ok {
		return s.cancelUnknown(own, out)
	}
	return out
}

// dropTaskMade cancels a task that its client will not hear of, because it cancelled the call while the response
// was on its way.
func (s *state) dropTaskMade(m message.DropTask, out []kernel.Effect) []kernel.Effect {
	if m.Incarnation != uint64(s.conn.incarnation) || s.conn.era != protocol.EraLegacy {
		return out
	}
	s.conn.tasks = slices.DeleteFunc(s.conn.tasks, func(t task) bool { return t.id == m.ID })
	return s.cancelUnknown(m.ID, out)
}

// cancelUnknown cancels a task that no client knows. The response does not matter.
func (s *state) cancelUnknown(id string, out []kernel.Effect) []kernel.Effect {
	if id == "" || len(id) > maxTaskID || s.life.phase != message.Ready && s.life.phase != message.Draining || !s.cancelsTasks() {
		return out
	}
	return s.expireOwn(s.request(protocol.MethodTasksCancel, taskParams(id), ignored, out))
}

// cancelsTasks reports whether the server supports tasks/cancel. MCP 2025-11-25, basic/utilities/tasks,
// capabilities; every server with the tasks extension of 2026-07-28 does.
func (s *state) cancelsTasks() bool {
	raw := s.conn.info.Capabilities
	tasks := rawjson.Member(raw, rawjson.Span{End: uint32(len(raw))}, "tasks")
	return s.conn.era == protocol.EraModern || rawjson.Member(raw, tasks, "cancel").Present()
}

// ignored handles the response to a gateway request when it does not matter.
func ignored(_ *state, _ time.Time, _ *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	return out
}
