package backend

import (
	"fmt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// What a server answers when it is asked for the end of a task is not always that. Of a task that has failed Python's SDK 1
// gives an empty result, which would be a success to a client that knows no tasks; FastMCP 2 does not wait for the end, and
// says -32602 before. Both are held against what the server says of the task itself.

// taskAnswered handles a response about a call's task. If done, it is not for the client; otherwise the returned
// frame is.
func (s *state) taskAnswered(p *pending, f *protocol.Frame, out []kernel.Effect) (_ *protocol.Frame, _ []kernel.Effect, done bool) {
	if odd := p.followed.doubted; odd != nil {
		p.followed.doubted = nil
		return s.judgeTask(p, odd, f, out)
	}
	if !doubtful(p.request, f) {
		return f, out, false
	}
	n, odd := s.nextID(), *f // a copy, or every frame that comes would live on the heap
	p.followed.doubted = &odd
	s.conn.pending[n], s.conn.byCall[p.call] = p, n
	frame := protocol.AppendRequest(nil, uint64(n), protocol.MethodTasksGet.String(), taskParams(p.followed.id))
	return nil, append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(n), Frame: frame, Request: true, Method: protocol.MethodTasksGet.String()}})), true
}

// doubtful reports whether a response to tasks/result may not be the result: it is empty, or the server may not
// know the task yet.
func doubtful(r *message.Request, f *protocol.Frame) bool {
	if f.Kind == protocol.KindError {
		code, _ := protocol.ErrorNumber(f)
		return code == codeInvalidParams
	}
	for _, key := range []string{"content", "structuredContent", "task"} {
		if rawjson.Member(f.Raw, f.Result, key).Present() {
			return false
		}
	}
	return r.Frame.M == protocol.MethodToolsCall
}

// judgeTask decides by the task's status: a running task is asked for later, a failed one fails the call with its
// reason, and otherwise the odd response stands.
func (s *state) judgeTask(p *pending, odd, f *protocol.Frame, out []kernel.Effect) (_ *protocol.Frame, _ []kernel.Effect, done bool) {
	if f.Kind == protocol.KindError {
		return odd, out, false
	}
	status, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Result, "status").Of(f.Raw))
	switch {
	case status == "working" || status == "input_required":
		n := s.nextID()
		p.followed.paused, p.followed.retries = true, 0
		s.conn.pending[n], s.conn.byCall[p.call] = p, n
		p.reached, out = heartbeat(p.call, p.reached, p.followed.reported, f, out)
		return nil, append(out, kernel.WakeAfter(legacyPause(f, f.Result), lookDue{s.conn.incarnation, n})), true
	case odd.Kind == protocol.KindResult && (status == "failed" || status == "cancelled"):
		why, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Result, "statusMessage").Of(f.Raw))
		if why == "" {
			why = fmt.Sprintf("the task of the call has %s", map[string]string{"failed": "failed", "cancelled": "been cancelled"}[status])
		}
		result := rawjson.AppendQuoted([]byte(`{"content":[{"type":"text","text":`), why)
		var failed protocol.Frame
		if failed.Parse(protocol.AppendResult(nil, odd.IDBytes(), append(result, `}],"isError":true}`...))) == nil {
			return &failed, out, false
		}
	}
	return odd, out, false
}
