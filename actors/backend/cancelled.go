package backend

import (
	"slices"
	"time"

	"goblin-actor/actors/kernel"
)

const (
	cancelGrace    = time.Second      // for a server to end a cancelled call with the questions it has asked in it
	cancelPatience = 10 * time.Second // for a server over HTTP to take the cancellation
	maxCancelled   = 1024             // such calls at once; the questions of more are answered with the cancellation
)

// A call may be cancelled while its server asks. Then the server is told that, alone: to one that gets the answer to its
// question as well, both at once, Python's SDK 1 answers the call twice, fails at that, and loses the session with
// everybody's calls. A server that knows what a cancellation is ends its questions with the call, and says so by an answer or
// by withdrawing them; one that does not would wait for ever, so after a moment its questions are answered after all. Over HTTP
// the moment begins when the server has taken the cancellation: POSTs overtake each other, and a busy server reads two at once.

// cancelWithQuestions cancels a call with open questions.
func (s *state) cancelWithQuestions(id uint32, keys []uint64, reason string, out []kernel.Effect) []kernel.Effect {
	questions := make([]*question, 0, len(keys))
	for _, key := range keys {
		questions = append(questions, s.questions.open[key])
		delete(s.questions.open, key)
	}
	s.conn.cancelled[id] = questions
	out = s.sayCancelled(id, reason, out)
	if s.link.ordered {
		return s.armCancelled(cancelGrace, id, out)
	}
	s.conn.cancelling[s.conn.lastID] = id
	return s.armCancelled(cancelPatience, id, out)
}

func (s *state) armCancelled(d time.Duration, id uint32, out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.WakeAfter(d, cancelOver{s.conn.incarnation, id}))
}

// cancellationTaken handles the end of a POST. If it carried a cancellation, the server has received it or never
// will.
func (s *state) cancellationTaken(ticket uint32, out []kernel.Effect) []kernel.Effect {
	id, ok := s.conn.cancelling[ticket]
	if !ok {
		return out
	}
	delete(s.conn.cancelling, ticket)
	return s.armCancelled(cancelGrace, id, out)
}

// cancelOver answers the questions of a cancelled call that its server has not ended.
func (s *state) cancelOver(m cancelOver, out []kernel.Effect) []kernel.Effect {
	questions := s.conn.cancelled[m.id]
	if questions == nil {
		return out
	}
	delete(s.conn.cancelled, m.id)
	for _, a := range questions {
		out = s.decline(a, out)
	}
	return append(out, kernel.Act(giveUp{uint64(m.id)}))
}

// withdrawFromCancelled removes a question that the server has withdrawn. Its call stays in the table until its
// time is over.
func (s *state) withdrawFromCancelled(rawID string) {
	for id, questions := range s.conn.cancelled {
		s.conn.cancelled[id] = slices.DeleteFunc(questions, func(a *question) bool { return string(a.rawID) == rawID })
	}
}
