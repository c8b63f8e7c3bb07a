package backend

import (
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// maxOrphans bounds the calls that are remembered after they were given up, the newest.
const maxOrphans = 64

// Servers may make a task of a call that was given up before they hear of that. Nobody will ever ask for such a task, so it
// is cancelled; notifications/cancelled does not reach tasks (MCP 2025-11-25, basic/utilities/cancellation). Where the end of
// the response is what tells the server (HTTP), its answer is not heard any more, and the task is left to its ttl.

// orphan remembers a call that is given up, if its server may yet make a task of it.
func (s *state) orphan(id uint32, p *pending) {
	r := p.request
	if r.Frame.M != protocol.MethodToolsCall || p.task != "" || s.era != message.EraModern && !r.AsTask && !r.Follow {
		return
	}
	if len(s.orphans) >= maxOrphans {
		s.orphans = slices.Delete(s.orphans, 0, 1)
	}
	s.orphans = append(s.orphans, id)
}

// orphaned takes an answer nobody waits for. When it is the task of a call that was given up, that is cancelled.
func (s *state) orphaned(id uint32, f *protocol.Frame, out []effect) []effect {
	i := slices.Index(s.orphans, id)
	if i < 0 || f.Kind != protocol.KindResult {
		return out
	}
	s.orphans = slices.Delete(s.orphans, i, i+1)
	task := f.Result
	if s.era == message.EraLegacy {
		task = protocol.Member(f.Raw, f.Result, "task")
	}
	if own, ok := protocol.Unquote(protocol.Member(f.Raw, task, "taskId").Of(f.Raw)); ok {
		return s.cancelUnknown(own, out)
	}
	return out
}

// dropTaskMade cancels a task that its client will never hear of: it gave the call up while the task was on its way to it.
func (s *state) dropTaskMade(m message.DropTask, out []effect) []effect {
	if m.Incarnation != *s.incarnation || s.era != message.EraLegacy {
		return out
	}
	s.tasks = slices.DeleteFunc(s.tasks, func(t task) bool { return t.id == m.ID })
	return s.cancelUnknown(m.ID, out)
}

// cancelUnknown cancels a task that no client knows. What the server answers does not matter.
func (s *state) cancelUnknown(id string, out []effect) []effect {
	if id == "" || len(id) > maxTaskID || s.phase != message.Ready && s.phase != message.Draining || !s.cancelsTasks() {
		return out
	}
	return s.expireOwn(s.request(protocol.MethodTasksCancel, taskParams(id), ignored, out))
}

// cancelsTasks reports whether the server takes tasks/cancel. MCP 2025-11-25, basic/utilities/tasks, capabilities; with the
// extension of 2026-07-28 every server of tasks does.
func (s *state) cancelsTasks() bool {
	raw := s.info.Capabilities
	tasks := protocol.Member(raw, protocol.Span{End: uint32(len(raw))}, "tasks")
	return s.era == message.EraModern || protocol.Member(raw, tasks, "cancel").Present()
}

// ignored takes the answer to a request of ours that does not matter.
func ignored(_ *state, _ time.Time, _ *protocol.Frame, out []effect) []effect { return out }
