package backend

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Limits for the questions of a modern server in one call.
const (
	maxRounds    = 10                     // input_required results of a call; also rounds of questions of its task
	maxEmpty     = 3                      // consecutive rounds without a question
	maxQuestions = 64                     // questions in one round
	emptyPause   = 200 * time.Millisecond // pause after the first round without a question; each further pause is four times as long
)

// round holds what a modern server has asked during a legacy client's call, and the answers so far. While it is in
// carried.rounds, the server has no pending request of the call, so a lost connection does not end the call. MCP
// 2026-07-28, basic/patterns/mrtr.
type round struct {
	call      message.CallRef
	request   *message.Request
	number    int                      // counts the server's input_required results and the polls, from 1; older timers are ignored
	empty     int                      // consecutive input_required results without a question
	state     []byte                   // requestState, raw JSON; nil = none
	responses []protocol.InputResponse // in the order of the questions; Result is nil while unanswered
	open      int                      // unanswered questions
	due       bool                     // the next request is ready to be sent and only waits for a connection
	parked    bool                     // the pool was told that the call waits for its client
	reached   float64                  // pending.reached, over all requests so far
	urls      [][]byte                 // elicitationIds, raw JSON, that the gateway made up for questions of mode url
	tasks     bool                     // the request declares the tasks extension, although the client did not
	poll      *poll                    // the task that the server has created; nil = none
}

// inputRequest is one question of a round that is being collected.
type inputRequest struct {
	index  int
	method protocol.Method
	params rawjson.Span
}

// inputRequired handles an input_required result. It sends the server's questions to the call's client, all at once. If
// the client need not answer any, the request is sent again: at once if the gateway has answers, else after a pause.
func (s *state) inputRequired(now time.Time, p *pending, f *protocol.Frame, r *protocol.ResultInfo, out []kernel.Effect) []kernel.Effect {
	q := p.round
	if q == nil {
		q = &round{call: p.call, request: p.request}
		p.round = q
	}
	q.number++
	q.reached = p.reached
	q.responses, q.open, q.due = nil, 0, false
	q.state = r.RequestState.Of(f.Raw)
	if q.number > maxRounds {
		return s.badAnswer(now, p, fmt.Sprintf("the server asked for input %d times without answering the call", q.number), out)
	}
	if len(q.state) > 0 && q.state[0] != '"' {
		return s.badAnswer(now, p, "the server's requestState is not a string", out)
	}
	questions, why := s.inputRequests(q, f, r)
	if why != "" {
		return s.badAnswer(now, p, why, out)
	}
	s.carried.rounds[q.call] = q
	switch {
	case len(questions) > 0:
		q.empty = 0
		return s.askClient(q, f, questions, out)
	case len(q.responses) > 0:
		return s.resend(q, out)
	}
	if q.empty++; q.empty > maxEmpty {
		delete(s.carried.rounds, q.call)
		return s.badAnswer(now, p, fmt.Sprintf("the server returned input_required %d times in a row without asking for input", q.empty), out)
	}
	pause := emptyPause << (2 * (q.empty - 1))
	return append(out, kernel.WakeAfter(pause, roundDue{q.call, q.number}))
}

// askClient asks the client of a call all questions. The call is parked until it has the answers.
func (s *state) askClient(q *round, f *protocol.Frame, questions []inputRequest, out []kernel.Effect) []kernel.Effect {
	q.open, q.parked = len(questions), true
	out = append(out, kernel.Tell(s.pool, message.CallParked{Backend: s.self, Call: q.call, Yes: true}))
	for _, asked := range questions {
		out = s.askOne(q, f, asked, out)
	}
	return out
}

// inputRequests collects the questions for the client. If they are invalid, the result why says what is wrong. For a client
// without roots, the configured roots are the answer.
func (s *state) inputRequests(q *round, f *protocol.Frame, r *protocol.ResultInfo) (questions []inputRequest, why string) {
	if !r.InputRequests.Present() {
		return nil, ""
	}
	err := protocol.InputRequests(f.Raw, r.InputRequests, func(key []byte, m protocol.Method, params rawjson.Span) bool {
		if len(q.responses) >= maxQuestions {
			why = fmt.Sprintf("the server asks for more than %d inputs at once", maxQuestions)
			return false
		}
		if q.poll != nil && q.poll.asked[string(key)] {
			return true
		}
		response := protocol.InputResponse{Key: slices.Clone(key)}
		kind := protocol.InputKindOf(f.Raw, m, params)
		switch {
		case q.request.Caller.Can.Answers(kind):
			questions = append(questions, inputRequest{len(q.responses), m, params})
		case kind == protocol.InputRoots:
			response.Result = rootsResult(s.server.Roots)
		default:
			why = "the server asks for input that the client does not support: " + m.String()
			return false
		}
		q.responses = append(q.responses, response)
		return true
	})
	if err != nil && why == "" {
		why = "the server's input requests are invalid: " + err.Error()
	}
	return questions, why
}

// askOne asks the call's holder one question, as a legacy server would.
func (s *state) askOne(q *round, f *protocol.Frame, asked inputRequest, out []kernel.Effect) []kernel.Effect {
	elicitation := ""
	if protocol.InputKindOf(f.Raw, asked.method, asked.params) == protocol.InputURL {
		elicitation = fmt.Sprintf("%016x%016x", s.rng.Uint64(), s.rng.Uint64())
		q.urls = append(q.urls, rawjson.Quote(elicitation))
	}
	s.questions.last++
	var frame protocol.Frame
	if err := frame.Parse(protocol.AppendLegacyRequest(nil, s.questions.last, f.Raw, asked.method, asked.params, elicitation)); err != nil {
		panic("own question: " + err.Error()) // made of parts of a parsed frame
	}
	s.questions.open[s.questions.last] = &question{method: asked.method, round: q, index: asked.index}
	return append(out, kernel.Tell(q.call.Holder, message.ServerRequest{Seq: q.call.Seq, Key: s.questions.last, From: s.self, Frame: frame}))
}

// answerRound handles the client's answer to one question. An error in response to an elicitation counts as a
// cancellation by the user. An error in response to sampling or roots fails the call, since input responses cannot contain
// errors.
func (s *state) answerRound(now time.Time, a *question, m message.ServerRequestResult, out []kernel.Effect) []kernel.Effect {
	q := a.round
	result := m.Result
	if result == nil {
		if a.method != protocol.MethodElicitationCreate {
			return s.endRound(now, q, m.Error, out)
		}
		result = []byte(`{"action":"cancel"}`)
	}
	q.responses[a.index].Result = result
	if q.open--; q.open > 0 {
		return out
	}
	return s.resend(q, out)
}

// endRound ends a call with the client's own error in response to a question.
func (s *state) endRound(now time.Time, q *round, raw []byte, out []kernel.Effect) []kernel.Effect {
	s.forgetRound(q)
	out = s.cancelTask(q, out)
	var f protocol.Frame
	if err := f.Parse(answerFrame([]byte("0"), nil, raw)); err != nil {
		panic("own error frame: " + err.Error()) // raw is part of a parsed frame
	}
	return s.done(now, &pending{call: q.call, request: q.request}, f, out)
}

// resend sends the request of a round again, with the answers and the server's state.
func (s *state) resend(q *round, out []kernel.Effect) []kernel.Effect {
	if q.parked {
		q.parked = false
		out = append(out, kernel.Tell(s.pool, message.CallParked{Backend: s.self, Call: q.call}))
	}
	q.due = true
	return s.sendRound(q, out)
}

// sendRound writes the request if a modern connection is ready. Otherwise the request waits for the next connection.
func (s *state) sendRound(q *round, out []kernel.Effect) []kernel.Effect {
	if !s.conn.open || s.conn.era != protocol.EraModern || s.life.phase != message.Ready && s.life.phase != message.Draining {
		return out
	}
	if q.poll != nil {
		return s.sendPoll(q, out)
	}
	delete(s.carried.rounds, q.call)
	return s.writeCall(&pending{call: q.call, request: q.request, round: q, reached: q.reached}, out)
}

// sendRounds writes the requests that waited for the connection. If the server has become legacy, they fail.
func (s *state) sendRounds(out []kernel.Effect) []kernel.Effect {
	if len(s.carried.rounds) > 0 && s.conn.era != protocol.EraModern {
		return s.failRounds(protocol.BackendDisconnected, "it now speaks another protocol version", out)
	}
	for _, call := range s.roundCalls() {
		if q := s.carried.rounds[call]; q.due {
			out = s.sendRound(q, out)
		}
	}
	return out
}

// roundDue handles the end of the pause after an input_required result without questions, or before a poll.
func (s *state) roundDue(m roundDue, out []kernel.Effect) []kernel.Effect {
	q := s.carried.rounds[m.call]
	if q == nil || q.number != m.number || q.due || q.open > 0 {
		return out
	}
	return s.resend(q, out)
}

// isBehind reports whether a progress notification must not reach the client. Progress must increase during a call (MCP
// 2025-11-25, basic/utilities/progress). But one call of a legacy client may take several requests, for each of which
// the server starts to count from zero, and the gateway itself reports progress of followed tasks.
func (s *state) isBehind(p *pending, f *protocol.Frame, params rawjson.Span) bool {
	if !p.request.Follow && (s.conn.era != protocol.EraModern || p.request.Modern) && !s.mayRepeat(p) {
		return false
	}
	value, err := strconv.ParseFloat(string(rawjson.Member(f.Raw, params, "progress").Of(f.Raw)), 64)
	if err != nil {
		return false // the client decides about invalid values
	}
	before := p.reached
	p.reached = max(before, value)
	if value <= p.before {
		return p.before > 0
	}
	return (p.round != nil || p.request.Follow) && before > 0 && value <= before
}

// forgetRound removes a waiting call and its questions from the tables.
func (s *state) forgetRound(q *round) {
	delete(s.carried.rounds, q.call)
	for key, a := range s.questions.open {
		if a.round == q {
			delete(s.questions.open, key)
		}
	}
}

// failRounds fails all waiting calls, because no connection will take them anymore.
func (s *state) failRounds(name protocol.FaultName, reason string, out []kernel.Effect) []kernel.Effect {
	for _, call := range s.roundCalls() {
		q := s.carried.rounds[call]
		s.forgetRound(q)
		fault := &protocol.Fault{Name: name, Server: s.server.Name,
			Message: fmt.Sprintf("server %s was lost during the call: %s", s.server.Name, reason)}
		out = append(out, s.endedCall(call), kernel.Tell(call.Holder, message.Failed{Seq: call.Seq, Fault: fault}))
	}
	return out
}

// roundCalls returns the waiting calls in a fixed order.
func (s *state) roundCalls() []message.CallRef {
	return slices.SortedFunc(maps.Keys(s.carried.rounds), message.CallRef.Compare)
}

// completed notifies a legacy client that its URL elicitations are complete. MCP 2025-11-25, client/elicitation,
// completion notifications.
func (q *round) completed(out []kernel.Effect) []kernel.Effect {
	for _, id := range q.urls {
		var f protocol.Frame
		params := append(append([]byte(`{"elicitationId":`), id...), '}')
		if err := f.Parse(protocol.AppendNotification(nil, protocol.NotificationElicitationComplete.String(), params)); err != nil {
			panic("own notification: " + err.Error())
		}
		out = append(out, kernel.Tell(q.call.Holder, message.ElicitationDone{Frame: f}))
	}
	return out
}
