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

// maxOrphans is the maximum number of canceled calls for which the server may still create a task; the newest are kept.
const maxOrphans = 64

// cancelCall cancels a call. Its slot is free at once, and a late response is ignored, apart from a task that it names
// (orphaned).
func (s *state) cancelCall(now time.Time, m message.CancelSent, out []kernel.Effect) []kernel.Effect {
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

// cancelRequest cancels a request. For a modern server over HTTP, closing the response is enough. MCP 2026-07-28,
// basic/patterns/cancellation.
func (s *state) cancelRequest(id uint32, reason string, out []kernel.Effect) []kernel.Effect {
	if s.conn.era != protocol.EraModern || !s.link.exchanges {
		out = s.notifyCancelled(id, reason, out)
	}
	return append(out, kernel.Act(cancelTicket{uint64(id)}))
}

// cancelAll sends a legacy server over HTTP a cancellation for each running call, since the end of the connection does not
// cancel calls (MCP 2025-11-25, basic/transports, sending messages). It leaves out the calls whose tasks the gateway follows. The
// calls of other servers end with the process or the HTTP response.
func (s *state) cancelAll(reason string, out []kernel.Effect) []kernel.Effect {
	if !s.conn.open || s.link.ownsServer || s.conn.era != protocol.EraLegacy {
		return out
	}
	for _, id := range slices.Sorted(maps.Values(s.conn.byCall)) {
		if s.conn.pending[id].followed == nil { // a task continues without a client
			out = s.notifyCancelled(id, reason, out)
		}
	}
	return out
}

// notifyCancelled sends notifications/cancelled for a request.
func (s *state) notifyCancelled(id uint32, reason string, out []kernel.Effect) []kernel.Effect {
	params := append([]byte(`{"requestId":`), strconv.AppendUint(nil, uint64(id), 10)...)
	if reason != "" {
		params = append(append(params, `,"reason":`...), rawjson.Quote(reason)...)
	}
	return s.notify(protocol.NotificationCancelled, append(params, '}'), out)
}

// A server may create a task for a call before it receives the call's cancellation. No client would ever request the
// task's result, so the task is canceled; notifications/cancelled does not cancel tasks (MCP 2025-11-25,
// basic/utilities/cancellation). If the call was canceled by closing its HTTP response, the gateway does not learn of the
// task, which then ends when its ttl expires.

// orphan remembers a canceled call for which the server may still create a task.
func (s *state) orphan(id uint32, p *pending) {
	r := p.request
	if r.Frame.Method != protocol.MethodToolsCall || p.followed != nil || s.conn.era != protocol.EraModern && !r.AsTask && !r.Follow {
		return
	}
	if len(s.conn.orphans) >= maxOrphans {
		s.conn.orphans = slices.Delete(s.conn.orphans, 0, 1)
	}
	s.conn.orphans = append(s.conn.orphans, id)
}

// orphaned handles a response that no call waits for. If the server created a task for a canceled call, the task is
// canceled.
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

// dropCreatedTask cancels a task that its client does not know, because the client canceled the call before the
// response arrived.
func (s *state) dropCreatedTask(m message.DropTask, out []kernel.Effect) []kernel.Effect {
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
