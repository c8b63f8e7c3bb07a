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

// followed is the task that a legacy server has made of a call, as we asked it to in the client's place.
type followed struct {
	id       string // the server's own
	token    uint32 // its progress token: our id of the call
	reported bool   // the server tells of its progress; else our looks at it are what the client is told
	retries  int    // responses that ended before the task did, since the server last said how far it is

	doubted *protocol.Frame // what the server answered when it was asked for the task's end, and need not be it; nil = nothing
	paused  bool            // nothing is asked for a while, since the task goes on
}

// followLegacy goes on with a call whose legacy server has made the task of it that we asked for in the client's place: it
// waits for the task's end, and asks now and then how far it is, so that the client knows that its call goes on. done:
// the server made one. MCP 2025-11-25, basic/utilities/tasks, result retrieval.
func (s *state) followLegacy(now time.Time, token uint32, p *pending, f *protocol.Frame, out []kernel.Effect) (_ []kernel.Effect, done bool) {
	task := rawjson.Member(f.Raw, f.Result, "task")
	if !task.Present() { // FastMCP 2 makes a result without content of it
		task = rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Result, "_meta"), "modelcontextprotocol.io/task")
	}
	id, ok := rawjson.Unquote(rawjson.Member(f.Raw, task, "taskId").Of(f.Raw))
	if !ok {
		return out, false
	}
	if id == "" || len(id) > maxTaskID {
		return s.badAnswer(now, p, fmt.Sprintf("the server's task has an id of %d bytes, want 1 to %d", len(id), maxTaskID), out), true
	}
	p.followed, p.written = &followed{id: id, token: token}, true
	return s.awaitTask(p, legacyPause(f, task), out), true
}

// awaitTask asks for the end of the task of a call, and looks at it after the pause.
func (s *state) awaitTask(p *pending, pause time.Duration, out []kernel.Effect) []kernel.Effect {
	n := s.nextID()
	p.followed.doubted, p.followed.paused = nil, false
	s.conn.pending[n], s.conn.byCall[p.call] = p, n
	frame := protocol.AppendRequest(nil, uint64(n), protocol.MethodTasksResult.String(), taskParams(p.followed.id))
	out = append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(n), Frame: frame, Request: true, Method: protocol.MethodTasksResult.String()}}))
	return append(out, kernel.WakeAfter(pause, lookDue{s.conn.incarnation, n}))
}

// awaitTaskAgain goes on with a call whose response ended before its task did: what stands between us and the server may close what
// is quiet for long. It reports whether it did. The task runs on, and asking for its result again executes nothing.
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

// taskParams are those of a request that names a task and nothing else.
func taskParams(id string) []byte {
	return append(rawjson.AppendQuoted([]byte(`{"taskId":`), id), '}')
}

// legacyPause is how long to wait before the next look at the task, as the server wishes, within bounds.
func legacyPause(f *protocol.Frame, task rawjson.Span) time.Duration {
	ms, err := strconv.ParseFloat(string(rawjson.Member(f.Raw, task, "pollInterval").Of(f.Raw)), 64)
	return pollPause(ms, err, firstPoll)
}

// lookDue asks how far the task of a call is. An error does not matter: the request that waits for its end will tell.
func (s *state) lookDue(m lookDue, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[m.id]
	switch {
	case p == nil || p.followed == nil || p.followed.doubted != nil:
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

// dropFollowed tells a legacy server that nobody waits for the task of a call any more, if we asked for one.
func (s *state) dropFollowed(p *pending, out []kernel.Effect) []kernel.Effect {
	if p.followed == nil {
		return out
	}
	return s.cancelUnknown(p.followed.id, out)
}

// followedBy returns the call whose task reports progress under the token.
func (s *state) followedBy(token uint32) *pending {
	for _, p := range s.conn.pending {
		if p.followed != nil && p.followed.token == token {
			return p
		}
	}
	return nil
}
