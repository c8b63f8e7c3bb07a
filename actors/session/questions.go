package session

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// questions are the servers' requests that the client has not answered.
type questions struct {
	last       uint64
	open       map[uint64]question         // by the gateway's id
	rootsPools map[string]kernel.Reference // pools of servers that asked for the roots, by server
}

// add stores a question and returns the id under which the client is asked.
func (q *questions) add(asked question) (id uint64) {
	q.last++
	put(&q.open, q.last, asked)
	return q.last
}

// texts returns the texts of a call's questions, oldest first.
func (q *questions) texts(seq uint64) (texts []string) {
	for _, id := range kernel.SortedKeys(q.open) {
		if asked := q.open[id]; asked.seq == seq {
			texts = append(texts, asked.text)
		}
	}
	return texts
}

// take removes and returns the question with that id.
func (q *questions) take(id uint64) (question, bool) {
	taken, ok := q.open[id]
	delete(q.open, id)
	return taken, ok
}

// question is a server's request that the client has not answered.
type question struct {
	seq  uint64 // the call it belongs to
	key  uint64 // the backend's number for it
	from kernel.Reference
	text string // what the call waits for its client to do, for operators
}

// ServerRequest sends a server's request to the client, on the stream of its call and under a new id. A request is refused if the
// client has not declared support for it, if the response to the client cannot be an event stream, or if too many of the client's
// calls wait for answers. If the client is another node of the cluster, that node checks what its own client has declared. MCP
// 2025-11-25, basic/transports, sending messages.
func (s *state) ServerRequest(now time.Time, h *heldCall, m message.ServerRequest, out []kernel.Effect) []kernel.Effect {
	hop := h.x.Origin.Principal.Behalf() != nil
	if q := protocol.InputKindOf(m.Frame.Raw, m.Frame.Method, m.Frame.Params); !hop && !s.client.can.Answers(q) {
		return append(out, clientcalls.RefuseQuestion(m, -32602, undeclared[q]))
	}
	if h.x.Origin.JSONOnly {
		return append(out, clientcalls.RefuseQuestion(m, -32602, "the response to the client cannot be an event stream, so the client cannot receive requests"))
	}
	if full := s.limits.ParkedPerClient; full > 0 && h.State != call.Parked && s.countParked() >= full {
		return append(out, clientcalls.RefuseQuestion(m, -1, "too many calls of this client wait for answers (limits.parkedPerClient)"))
	}
	if m.Frame.Method == protocol.MethodRootsList {
		put(&s.questions.rootsPools, h.Upstream.Name, h.Upstream.Pool)
	}
	number := s.questions.add(question{m.Seq, m.Key, m.From, clientcalls.WaitsFor(&m.Frame)})
	s.calls.Change(now, h, call.Asked{})
	id := s.questionID(number)
	edits := admission.PublicTask([]rawjson.Edit{{Span: m.Frame.ID, With: id}}, m.Frame.Raw, protocol.RelatedTask(m.Frame.Raw, m.Frame.Params), h.Server)
	frame := rawjson.AppendEdited(nil, m.Frame.Raw, edits...)
	out = append(out, kernel.Act(reply.Notify{X: h.x, Message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}, Weight: downstream.WeightAnswer}))
	return s.calls.Watch(now, h, out)
}

// questionID returns the id of the client's question with that number, as raw JSON. In a cluster it names the node that
// asks, because the client's answer may reach another one.
func (s *state) questionID(number uint64) []byte {
	id := strconv.AppendUint(nil, number, 10)
	if s.cluster == "" {
		return id
	}
	return fmt.Appendf(nil, `"%s.%s"`, s.cluster, id)
}

// questionNumber returns the number in an id made by questionID, or false if this session has not made it.
func (s *state) questionNumber(id []byte) (uint64, bool) {
	text := string(id)
	if s.cluster != "" {
		quoted, ok := rawjson.Unquote(id)
		if !ok {
			return 0, false
		}
		if text, ok = strings.CutPrefix(quoted, s.cluster+"."); !ok {
			return 0, false
		}
	}
	number, err := strconv.ParseUint(text, 10, 64)
	return number, err == nil
}

// countParked counts the calls that wait for answers of the client.
func (s *state) countParked() int {
	n := 0
	for _, h := range s.calls.All() {
		if h.State == call.Parked {
			n++
		}
	}
	return n
}

// undeclared holds the errors for server requests for which the client has not declared support. An elicitation in an
// undeclared mode is refused, not converted.
var undeclared = map[protocol.InputKind]string{
	protocol.InputForm:        "the client has not declared elicitation",
	protocol.InputURL:         "the client has not declared elicitation.url",
	protocol.InputSample:      "the client has not declared sampling",
	protocol.InputSampleTools: "the client has not declared sampling.tools",
	protocol.InputRoots:       "the client has not declared roots",
	protocol.InputUnknown:     "this kind of server request is not supported",
}

// response passes the client's answer on to the server. An answer to an unknown or already answered request is dropped.
func (s *state) response(now time.Time, x *downstream.Exchange, out []kernel.Effect) []kernel.Effect {
	number, ok := s.questionNumber(x.Frame.IDBytes())
	if !ok {
		return out
	}
	q, ok := s.questions.take(number)
	if !ok {
		return out
	}
	answer := message.ServerRequestResult{Key: q.key, Result: x.Frame.ResultBytes()}
	if h := s.calls.Held(q.seq); h != nil {
		answer.Result = h.privateReply(&x.Frame)
	}
	if x.Frame.Kind == protocol.KindError {
		answer.Result, answer.Error = nil, x.Frame.ErrorBytes()
	}
	return s.replied(now, q.seq, append(out, kernel.Tell(q.from, answer)))
}

// replied records that one of a call's server requests was answered or canceled. After the last one, the call's
// timeouts continue.
func (s *state) replied(now time.Time, seq uint64, out []kernel.Effect) []kernel.Effect {
	h := s.calls.Held(seq)
	if h == nil {
		return out
	}
	s.calls.Change(now, h, call.Replied{})
	return s.calls.Watch(now, h, out)
}

// QuestionCanceled tells the client that its answer is no longer wanted.
func (s *state) QuestionCanceled(now time.Time, _ *heldCall, m message.ServerRequestCanceled, out []kernel.Effect) []kernel.Effect {
	for number, q := range s.questions.open {
		if q.seq == m.Seq && q.key == m.Key {
			out = s.cancelQuestion(number, "the server has withdrawn its request", out)
			return s.replied(now, m.Seq, out)
		}
	}
	return out
}

// cancelQuestions cancels the open server requests of a call that has ended.
func (s *state) cancelQuestions(seq uint64, out []kernel.Effect) []kernel.Effect {
	if len(s.questions.open) == 0 {
		return out
	}
	for _, number := range kernel.SortedKeys(s.questions.open) {
		if s.questions.open[number].seq == seq {
			out = s.cancelQuestion(number, "the call has ended", out)
		}
	}
	return out
}

// cancelQuestion tells the client that its answer to a server request is no longer wanted. The reason is sent as part of a
// JSON string.
func (s *state) cancelQuestion(number uint64, reason string, out []kernel.Effect) []kernel.Effect {
	q, _ := s.questions.take(number)
	h := s.calls.Held(q.seq)
	if h == nil {
		return out
	}
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":%q}`, s.questionID(number), reason)
	frame := protocol.AppendNotification(nil, protocol.NotificationCancelled.String(), params)
	return append(out, kernel.Act(reply.Notify{X: h.x, Message: protocol.Message{Frame: frame}, Weight: downstream.WeightAnswer}))
}
