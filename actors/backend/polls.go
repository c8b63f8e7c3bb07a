package backend

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// Limits for following a server's task. Extension io.modelcontextprotocol/tasks.
const (
	firstPoll   = time.Second            // pause before a poll if the server does not name one
	shortPoll   = 100 * time.Millisecond // shortest pause, whatever the server asks for
	longPoll    = 30 * time.Second       // longest pause
	maxFailures = 3                      // consecutive internal errors or missing responses; the next one, or any other error, ends the call
)

// poll is the task that a modern server has created for a legacy client's call. The client does not know about it. The
// gateway polls it until it ends, on a new connection if the first one breaks.
type poll struct {
	id       []byte          // taskId, raw JSON
	pause    time.Duration   // between two requests
	inFlight bool            // a request about it waits for its response
	rounds   int             // rounds of questions so far
	asked    map[string]bool // raw keys of the input requests already passed on or answered; the server may repeat them
	failures int             // consecutive requests that failed
}

// followModern continues a call whose response is a task.
func (s *state) followModern(now time.Time, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	id := rawjson.Member(f.Raw, f.Result, "taskId").Of(f.Raw)
	if text, ok := rawjson.Unquote(id); !ok || text == "" || len(text) > maxTaskID {
		return s.badAnswer(now, p, fmt.Sprintf("the server answered with a task whose id is missing or longer than %d bytes", maxTaskID), out)
	}
	q := p.round
	if q == nil {
		q = &round{call: p.call, request: p.request}
	}
	q.reached = p.reached
	q.poll = &poll{id: slices.Clone(id), pause: firstPoll, asked: map[string]bool{}}
	q.responses, q.open, q.due = nil, 0, false
	s.carried.rounds[q.call] = q
	return s.pauseRound(q, q.poll.pauseOf(f), out)
}

// pauseOf returns the pause before the next poll: the server's pollIntervalMs, within bounds.
func (t *poll) pauseOf(f *protocol.Frame) time.Duration {
	ms, err := strconv.ParseFloat(string(rawjson.Member(f.Raw, f.Result, "pollIntervalMs").Of(f.Raw)), 64)
	t.pause = pollPause(ms, err, t.pause)
	return t.pause
}

// pollPause returns a pause of ms milliseconds, within bounds. If err is set, ms is invalid, and it returns the pause
// given as otherwise.
func pollPause(ms float64, err error, otherwise time.Duration) time.Duration {
	if err != nil {
		return otherwise
	}
	return time.Duration(min(max(ms, float64(shortPoll.Milliseconds())), float64(longPoll.Milliseconds()))) * time.Millisecond
}

// pauseRound starts the pause before the next request.
func (*state) pauseRound(q *round, pause time.Duration, out []kernel.Effect) []kernel.Effect {
	q.number++
	return append(out, kernel.WakeAfter(pause, roundDue{q.call, q.number}))
}

// sendPoll polls the task, or sends the client's answer.
func (s *state) sendPoll(q *round, out []kernel.Effect) []kernel.Effect {
	q.due, q.poll.inFlight = false, true
	m, more := protocol.MethodTasksGet, []byte(nil)
	if len(q.responses) > 0 {
		m, more = protocol.MethodTasksUpdate, protocol.AppendInputResponses([]byte(`,"inputResponses":`), q.responses)
	}
	return s.expireOwn(s.requestOfTask(q, m, more, func(s *state, now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		return s.polled(now, q, f, out)
	}, out))
}

// requestOfTask sends a request about the task on behalf of the call's client.
func (s *state) requestOfTask(q *round, m protocol.Method, more []byte, own answerHandler, out []kernel.Effect) []kernel.Effect {
	id := s.nextID()
	s.conn.pending[id] = &pending{own: own}
	meta := s.modernMeta(q.request, nil)
	caller := q.request.Caller
	meta.Capabilities = caller.Extras.With(modernCapabilities(caller.Can), true)
	params := append(meta.AppendMeta([]byte(`{"_meta":`)), `,"taskId":`...)
	params = append(append(append(params, q.poll.id...), more...), '}')
	name, _ := rawjson.Unquote(q.poll.id)
	return append(out, kernel.Act(write{upstream.Outgoing{
		Ticket: uint64(id), Frame: protocol.AppendRequest(nil, uint64(id), m.String(), params), Request: true, Method: m.String(), Name: name,
	}}))
}

// polled handles the response to a request about a task.
func (s *state) polled(now time.Time, q *round, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	t := q.poll
	if s.carried.rounds[q.call] != q || !t.inFlight {
		return out // its call has ended meanwhile
	}
	t.inFlight = false
	if f.Kind == protocol.KindError {
		code, _ := protocol.ErrorNumber(f)
		if t.failures++; code == -32603 && t.failures <= maxFailures { // an internal error, or no response
			return s.pauseRound(q, t.pause, out)
		}
		return s.dropTask(now, q, "the server created a task for the call, but does not report its status: "+errorText(f), out)
	}
	t.failures = 0
	if len(q.responses) > 0 { // the server has received the answers
		q.responses = nil
		return s.pauseRound(q, min(t.pause, emptyPause), out)
	}
	phase, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Result, "status").Of(f.Raw))
	switch phase {
	case "working":
		q.reached, out = heartbeat(q.call, q.reached, false, f, out)
		return s.pauseRound(q, t.pauseOf(f), out)
	case "input_required":
		q.reached, out = heartbeat(q.call, q.reached, false, f, out)
		return s.taskAsks(now, q, f, out)
	case "completed":
		return s.taskEnded(now, q, "result", f, out)
	case "failed":
		return s.taskEnded(now, q, "error", f, out)
	case "cancelled":
		return s.dropTask(now, q, "the server canceled the task that it had created for the call", out)
	}
	return s.dropTask(now, q, fmt.Sprintf("the server reported an unknown status of the call's task: %q", status.Cut(phase, 32)), out)
}

// heartbeat reports progress to the client, the next integer above the value reached, with the server's status message. If
// the parameter quiet is true, the message only keeps the call alive and does not reach the client, because the server
// reports progress itself. heartbeat returns the new value of reached.
func heartbeat(call message.CallRef, reached float64, quiet bool, f *protocol.Frame, out []kernel.Effect) (float64, []kernel.Effect) {
	step := math.Floor(reached) + 1
	behind := quiet || step <= reached // beyond 2^53
	params := strconv.AppendFloat([]byte(`{"progressToken":0,"progress":`), step, 'g', -1, 64)
	if text := rawjson.Member(f.Raw, f.Result, "statusMessage").Of(f.Raw); len(text) > 0 && text[0] == '"' {
		params = append(append(params, `,"message":`...), text...)
	}
	var frame protocol.Frame
	var p protocol.Params
	raw := protocol.AppendNotification(nil, protocol.NotificationProgress.String(), append(params, '}'))
	if frame.Parse(raw) != nil || p.Scan(&frame) != nil {
		return reached, out
	}
	out = append(out, kernel.Tell(call.Holder, message.Progress{Seq: call.Seq, Frame: frame, Token: p.Token, Behind: behind}))
	if behind {
		return reached, out
	}
	return step, out
}

// taskAsks handles the task's input requests that are new. It asks the client, or responds at once if the gateway can
// answer all of them.
func (s *state) taskAsks(now time.Time, q *round, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	var r protocol.ResultInfo
	if r.Scan(f) != nil {
		return s.dropTask(now, q, "the server sent an invalid result", out)
	}
	questions, why := s.inputRequests(q, f, &r)
	if why != "" {
		return s.dropTask(now, q, why, out)
	}
	if len(q.responses) == 0 {
		return s.pauseRound(q, q.poll.pauseOf(f), out)
	}
	if q.poll.rounds++; q.poll.rounds > maxRounds {
		return s.dropTask(now, q, fmt.Sprintf("the server's task asked for input more than %d times without ending", maxRounds), out)
	}
	for _, response := range q.responses {
		q.poll.asked[string(response.Key)] = true
	}
	if len(questions) == 0 {
		return s.resend(q, out)
	}
	return s.askClient(q, f, questions, out)
}

// taskEnded answers the call with the outcome of its task, which is in the response's given member: result or error.
func (s *state) taskEnded(now time.Time, q *round, member string, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	var g protocol.Frame
	var r protocol.ResultInfo
	raw := append([]byte(`{"jsonrpc":"2.0","id":0,"`+member+`":`), rawjson.Member(f.Raw, f.Result, member).Of(f.Raw)...)
	if g.Parse(append(raw, '}')) != nil {
		return s.dropTask(now, q, "the server's task ended, but its "+member+" is missing or invalid", out)
	}
	s.forgetRound(q)
	p := &pending{call: q.call, request: q.request, round: q}
	if g.Kind == protocol.KindError {
		return s.doneEdited(now, p, &g, protocol.TranslateError(nil, q.request.Frame.Method, &g, nil, protocol.EraLegacy), out)
	}
	if r.Scan(&g) != nil || r.KindOf(q.request.Frame.Method, &g) != protocol.ResultComplete {
		return s.badAnswer(now, p, "the result of the server's task is invalid", out)
	}
	return s.doneEdited(now, p, &g, protocol.ToLegacyResult(nil, q.request.Frame.Method, &g, &r), out)
}

// dropTask fails a call whose task cannot be followed to its end, and cancels the task.
func (s *state) dropTask(now time.Time, q *round, why string, out []kernel.Effect) []kernel.Effect {
	s.forgetRound(q)
	return s.badAnswer(now, &pending{call: q.call, request: q.request}, why, s.cancelTask(q, out))
}

// cancelTask cancels a call's task, if it has one. The response does not matter.
func (s *state) cancelTask(q *round, out []kernel.Effect) []kernel.Effect {
	if q.poll == nil || !s.conn.open || s.conn.era != protocol.EraModern || s.life.phase != message.Ready && s.life.phase != message.Draining {
		return out
	}
	return s.expireOwn(s.requestOfTask(q, protocol.MethodTasksCancel, nil, ignored, out))
}

// wantsTasks reports whether a modern server refused the call because the client has not declared the tasks extension.
func wantsTasks(f *protocol.Frame) bool {
	required := rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Error, "data"), "requiredCapabilities")
	code, _ := protocol.ErrorNumber(f)
	return code == codeCapabilityRequired && rawjson.Member(f.Raw, rawjson.Member(f.Raw, required, "extensions"), message.ExtensionTasks).Present()
}
