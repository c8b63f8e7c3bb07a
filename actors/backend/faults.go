package backend

import (
	"errors"
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// pauseAfter429 is the pause after HTTP 429 without Retry-After.
const pauseAfter429 = time.Second

// noAnswer describes a call whose HTTP response ended with err, or without a JSON-RPC message if err is nil. It uses
// err's own text, not that of a wrapped error, which may contain secrets that err hides.
func (s *state) noAnswer(err error) string {
	if _, is := errors.AsType[*upstream.StatusError](err); is {
		return "server " + s.server.Name + " answered " + err.Error()
	}
	text := "no answer from server " + s.server.Name + ": "
	if err == nil || errors.Is(err, upstream.ErrNoAnswer) {
		return text + "its response ended without one"
	}
	return text + err.Error()
}

// fault returns a gateway error about a call that was written to the server.
func (s *state) fault(p *pending, name protocol.FaultName, text string) *protocol.Fault {
	if name == protocol.BackendDisconnected {
		return message.OutcomeUnknown(p.request, text)
	}
	return &protocol.Fault{Name: name, Server: s.server.Name, Message: text}
}

// refusedFault returns the error for a call that the server refused with an HTTP status, without executing it. text
// describes the response.
func (s *state) refusedFault(p *pending, status *upstream.StatusError, text string) *protocol.Fault {
	what := "request"
	if p.request.Frame.Method == protocol.MethodToolsCall {
		what = "call"
	}
	f := &protocol.Fault{Name: protocol.InternalFault, Server: s.server.Name, Retryable: status.Temporary(), RetryAfter: status.RetryAfter,
		Message: fmt.Sprintf("%s; the %s was not executed", text, what)}
	switch {
	case status.Code == 401:
		f.Name = protocol.NeedsLogin
	case status.Code == 413:
		f.Name = protocol.MessageTooLarge
	case status.Code == 429:
		f.Name = protocol.RateLimited
		f.RetryAfter = pauseOf(status)
	case f.Retryable:
		f.Name = protocol.ServerUnavailable
	}
	if status.Scheme != "" {
		f.Message += "; " + wantsScheme(status.Scheme)
	}
	if f.RetryAfter > 0 {
		f.Message += "; retry after " + message.Seconds(max(f.RetryAfter, time.Second))
	}
	return f
}

// wantsScheme returns how to authenticate with a scheme for which the gateway has no login.
func wantsScheme(scheme string) string {
	return fmt.Sprintf("the server asks for %s authentication: set headers: {Authorization: \"%s ${CREDENTIALS}\"}", scheme, scheme)
}

// pauseOf returns how long to hold back requests to a server that answered HTTP 429 (Too Many Requests).
func pauseOf(status *upstream.StatusError) time.Duration {
	if status.RetryAfter > 0 {
		return status.RetryAfter
	}
	return pauseAfter429
}

// refused fails a call that the server refused with an HTTP status, without executing it. After HTTP 429, the pool is
// told how long to pause.
func (s *state) refused(now time.Time, id uint32, status *upstream.StatusError, text string, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[id]
	if p.own != nil {
		return s.fail(now, id, protocol.InternalFault, text, out)
	}
	fault := s.refusedFault(p, status, text)
	out = s.declineQuestions(id, out)
	s.remove(id, p)
	ended := message.CallEnded{Backend: s.self, Call: p.call}
	if status.Code == 429 {
		ended.Pause = fault.RetryAfter
	}
	out = append(out, kernel.Tell(s.pool, ended), kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: fault}))
	return s.stopWhenDrained(now, out)
}
