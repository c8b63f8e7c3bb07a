package backend

import (
	"errors"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// noAnswer says that the HTTP response to a request ended without an answer, and why.
func (s *state) noAnswer(err error) string {
	text := "no answer from server " + s.server.Name + ": "
	if err == nil || errors.Is(err, upstream.ErrNoAnswer) {
		return text + "its response ended without one"
	}
	return text + err.Error()
}

// fault is an error of ours about a call the server has got. One whose end nobody knows says what can be done about it: a
// request that only asks may be sent again, a tool may have run.
func (s *state) fault(p *pending, name protocol.FaultName, text string) *protocol.Fault {
	f := &protocol.Fault{Name: name, Server: s.server.Name, Message: text}
	if name != protocol.BackendDisconnected {
		return f
	}
	if f.Retryable = p.request.Frame.M.Repeatable() || p.request.Repeatable(); f.Retryable {
		f.Message += "; it may be sent again"
	} else {
		f.Message += "; whether it was carried out is not known, so it is not sent again: look at the server's log before you do"
	}
	return f
}
