package backend

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
)

const (
	cancelGrace    = time.Second      // time for a server to end a canceled call and its questions
	cancelPatience = 10 * time.Second // time for a server over HTTP to accept the cancellation
	maxCancelled   = 1024             // maximum number of canceled calls whose questions wait; beyond it, questions are answered together with the cancellation
)

// A call may be canceled while its server waits for answers to questions. The server first gets only the cancellation.
// If it got the answers at the same time, Python SDK 1 would answer the call twice, fail, and lose the session with all
// other calls. A server that supports cancellation ends the questions with the call: it answers the call or cancels the
// questions. A server without this support would wait forever, so its questions are answered after cancelGrace. Over HTTP this
// time begins when the server has accepted the cancellation, because POST requests can overtake each other and a busy
// server may read two at once.

// cancelWithQuestions cancels a call with open questions.
func (s *state) cancelWithQuestions(id uint32, keys []uint64, reason string, out []kernel.Effect) []kernel.Effect {
	questions := make([]*question, 0, len(keys))
	for _, key := range keys {
		questions = append(questions, s.questions.open[key])
		delete(s.questions.open, key)
	}
	s.conn.cancelled[id] = questions
	out = s.notifyCancelled(id, reason, out)
	if s.link.ordered {
		return s.armCancelled(cancelGrace, id, out)
	}
	s.conn.cancelling[s.conn.lastID] = id
	return s.armCancelled(cancelPatience, id, out)
}

func (s *state) armCancelled(d time.Duration, id uint32, out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.WakeAfter(d, cancelOver{s.conn.incarnation, id}))
}

// cancellationAccepted handles the end of a POST. If it carried a cancellation, the server has received it or never
// will.
func (s *state) cancellationAccepted(ticket uint32, out []kernel.Effect) []kernel.Effect {
	id, ok := s.conn.cancelling[ticket]
	if !ok {
		return out
	}
	delete(s.conn.cancelling, ticket)
	return s.armCancelled(cancelGrace, id, out)
}

// cancelOver answers the questions of a canceled call that its server has not ended.
func (s *state) cancelOver(m cancelOver, out []kernel.Effect) []kernel.Effect {
	questions := s.conn.cancelled[m.id]
	if questions == nil {
		return out
	}
	delete(s.conn.cancelled, m.id)
	for _, a := range questions {
		out = s.decline(a, out)
	}
	return append(out, kernel.Act(cancelTicket{uint64(m.id)}))
}

// removeCancelledQuestion removes a question that the server has canceled. Its call stays in the table until
// cancelGrace is over.
func (s *state) removeCancelledQuestion(rawID string) {
	for id, questions := range s.conn.cancelled {
		s.conn.cancelled[id] = slices.DeleteFunc(questions, func(a *question) bool { return string(a.rawID) == rawID })
	}
}
