package backend

import (
	"fmt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// Some responses to tasks/result are not the task's result. For a failed task, Python SDK 1 sends an empty result, which a
// client without tasks would take for success. FastMCP 2 does not wait for the end of the task and answers with error
// -32602. Both responses are checked against the task's status.

// taskAnswered handles a response about a call's task. If the result done is true, the response is not for the client.
// Otherwise the returned frame is.
func (s *state) taskAnswered(p *pending, f *protocol.Frame, out []kernel.Effect) (_ *protocol.Frame, _ []kernel.Effect, done bool) {
	if odd := p.followed.unverified; odd != nil {
		p.followed.unverified = nil
		return s.verifyTask(p, odd, f, out)
	}
	if !needsVerification(p.request, f) {
		return f, out, false
	}
	n, odd := s.nextID(), *f // a copy, so that not every received frame escapes to the heap
	p.followed.unverified = &odd
	s.conn.pending[n], s.conn.byCall[p.call] = p, n
	frame := protocol.AppendRequest(nil, uint64(n), protocol.MethodTasksGet.String(), taskParams(p.followed.id))
	return nil, append(out, kernel.Act(write{upstream.Outgoing{Ticket: uint64(n), Frame: frame, Request: true, Method: protocol.MethodTasksGet.String()}})), true
}

// needsVerification reports whether a response to tasks/result may not be the result: it is empty, or an error for
// invalid params.
func needsVerification(r *message.Request, f *protocol.Frame) bool {
	if f.Kind == protocol.KindError {
		code, _ := protocol.ErrorNumber(f)
		return code == codeInvalidParams
	}
	for _, key := range []string{"content", "structuredContent", "task"} {
		if rawjson.Member(f.Raw, f.Result, key).Present() {
			return false
		}
	}
	return r.Frame.Method == protocol.MethodToolsCall
}

// verifyTask decides what to do with odd, a response to tasks/result that needed verification. f contains the task's status. If
// the task is still running, its result is requested again later. If the task has failed or was canceled, and odd is a result,
// the call's result becomes an error (isError) with the reason. Otherwise odd is passed on.
func (s *state) verifyTask(p *pending, odd, f *protocol.Frame, out []kernel.Effect) (_ *protocol.Frame, _ []kernel.Effect, done bool) {
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
		return nil, append(out, kernel.WakeAfter(legacyPause(f, f.Result), taskPollDue{s.conn.incarnation, n})), true
	case odd.Kind == protocol.KindResult && (status == "failed" || status == "cancelled"):
		why, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Result, "statusMessage").Of(f.Raw))
		if why == "" {
			why = fmt.Sprintf("the call's task %s", map[string]string{"failed": "failed", "cancelled": "was canceled"}[status])
		}
		result := rawjson.AppendQuoted([]byte(`{"content":[{"type":"text","text":`), why)
		var failed protocol.Frame
		if failed.Parse(protocol.AppendResult(nil, odd.IDBytes(), append(result, `}],"isError":true}`...))) == nil {
			return &failed, out, false
		}
	}
	return odd, out, false
}
