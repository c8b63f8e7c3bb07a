package backend

import (
	"fmt"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// followed is a task that a legacy server created for a call because the gateway asked for one on behalf of the
// client.
type followed struct {
	id       string // given by the server
	token    uint32 // its progress token, which is the gateway's id of the call
	reported bool   // the server reports the task's progress; otherwise the gateway reports its polls as progress
	retries  int    // responses that ended before the task did, since the server last reported its status

	unverified *protocol.Frame // response to tasks/result that is checked against the task's status; nil = none
	paused     bool            // the task is still running, and its result is requested again after a pause
}

// followLegacy continues a call for which the legacy server has created a task on the gateway's request. It waits
// for the task's end and polls its status, so that the client gets progress. It reports whether the server created
// a task. MCP 2025-11-25, basic/utilities/tasks, result retrieval.
func (s *state) followLegacy(now time.Time, token uint32, p *pending, f *protocol.Frame, out []kernel.Effect) (_ []kernel.Effect, done bool) {
	task := rawjson.Member(f.Raw, f.Result, "task")
	if !task.Present() { // FastMCP 2 sends the task in _meta of a result without content
		task = rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Result, "_meta"), "modelcontextprotocol.io/task")
	}
	id, ok := rawjson.Unquote(rawjson.Member(f.Raw, task, "taskId").Of(f.Raw))
	if !ok {
		return out, false
	}
	if id == "" || len(id) > maxTaskID {
		return s.badAnswer(now, p, fmt.Sprintf("the server's task has an id of %d bytes, expected 1 to %d", len(id), maxTaskID), out), true
	}
	p.followed, p.written = &followed{id: id, token: token}, true
	return s.awaitTask(p, legacyPause(f, task), out), true
}

// awaitTask requests the result of a call's task, and polls its status after the pause.
func (s *state) awaitTask(p *pending, pause time.Duration, out []kernel.Effect) []kernel.Effect {
	n := s.nextID()
	p.followed.unverified, p.followed.paused = nil, false
	s.conn.pending[n], s.conn.byCall[p.call] = p, n
	frame := protocol.AppendRequest(nil, uint64(n), protocol.MethodTasksResult.String(), taskParams(p.followed.id))
	out = append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(n), Frame: frame, Request: true, Method: protocol.MethodTasksResult.String()}}))
	return append(out, kernel.WakeAfter(pause, taskPollDue{s.conn.incarnation, n}))
}

// awaitTaskAgain requests a task's result again if the response ended before the task did. It reports whether it sent
// the request. After maxFailures such requests without a status of the task, it sends no more. Intermediaries close
// connections without traffic. The task is still running, and requesting its result again executes nothing.
func (s *state) awaitTaskAgain(id uint32, out []kernel.Effect) (_ []kernel.Effect, done bool) {
	p := s.conn.pending[id]
	if p.followed == nil || p.followed.retries >= maxFailures {
		return out, false
	}
	p.followed.retries++
	out = s.declineQuestions(id, out)
	s.remove(id, p)
	return s.awaitTask(p, firstPoll, out), true
}

// taskParams returns params that only name a task.
func taskParams(id string) []byte {
	return append(rawjson.AppendQuoted([]byte(`{"taskId":`), id), '}')
}

// legacyPause returns the pause before the next poll: the server's pollInterval, within bounds.
func legacyPause(f *protocol.Frame, task rawjson.Span) time.Duration {
	ms, err := strconv.ParseFloat(string(rawjson.Member(f.Raw, task, "pollInterval").Of(f.Raw)), 64)
	return pollPause(ms, err, firstPoll)
}

// taskPollDue polls the status of a call's task or, if the request for its result is paused, sends that request again.
// Errors of a poll are ignored, since the request for the result will report them.
func (s *state) taskPollDue(m taskPollDue, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[m.id]
	switch {
	case p == nil || p.followed == nil || p.followed.unverified != nil:
		return out
	case p.followed.paused:
		s.remove(m.id, p)
		return s.awaitTask(p, firstPoll, out)
	}
	return s.expireOwn(s.request(protocol.MethodTasksGet, taskParams(p.followed.id), func(s *state, _ time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		if s.conn.pending[m.id] != p {
			return out
		}
		pause := firstPoll
		if f.Kind == protocol.KindResult {
			p.followed.retries, pause = 0, legacyPause(f, f.Result)
			p.reached, out = heartbeat(p.call, p.reached, p.followed.reported, f, out)
		}
		return append(out, kernel.WakeAfter(pause, m))
	}, out))
}

// dropFollowed cancels a call's task at a legacy server, if the gateway and not the client requested the task.
func (s *state) dropFollowed(p *pending, out []kernel.Effect) []kernel.Effect {
	if p.followed == nil {
		return out
	}
	return s.cancelUnknown(p.followed.id, out)
}

// followedBy returns the call whose task reports progress under the token, or nil if there is none.
func (s *state) followedBy(token uint32) *pending {
	for _, p := range s.conn.pending {
		if p.followed != nil && p.followed.token == token {
			return p
		}
	}
	return nil
}
