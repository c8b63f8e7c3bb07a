package backend

import (
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

const (
	maxQuestionsOfCall = 256                   // open questions of one call; each takes memory here and at the call's holder
	maxElicited        = 256                   // URL elicitations remembered until the server reports that they are complete
	burst              = 30 * time.Millisecond // questions within this time of each other are attributed to the same call
)

// codeTooManyQuestions is the error code for a server with too many open questions.
const codeTooManyQuestions = -31010

// lastAsker is the call in which the server last asked a question or received an answer. A question that follows within
// burst is attributed to it, too.
type lastAsker struct {
	id uint32
	at time.Time
}

// question is a server's question that waits for a client's answer.
type question struct {
	rawID  []byte // the server's id, raw JSON
	method protocol.Method
	id     uint32 // the pending call that it belongs to
	round  *round // for modern servers: the round that it belongs to, instead of a pending call
	index  int    // for modern servers: index in round.responses
}

// elicitation remembers which client got a URL elicitation.
type elicitation struct {
	id   string // elicitationId, raw JSON
	call message.CallRef
}

// serverAsked handles a request from the server. MCP 2025-11-25, client/sampling, client/elicitation,
// client/roots.
func (s *state) serverAsked(now time.Time, e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	rawID := e.Frame.IDBytes()
	switch e.Frame.Method {
	case protocol.MethodPing:
		return s.reply(protocol.AppendResult(nil, rawID, []byte("{}")), out)
	case protocol.MethodSamplingCreateMessage, protocol.MethodElicitationCreate, protocol.MethodRootsList:
	default:
		return s.reply(protocol.AppendError(nil, rawID, codeNoMethod, "Method not found: "+e.Frame.MethodText(), nil), out)
	}
	if questions := s.conn.cancelled[uint32(e.Ticket)]; questions != nil && len(questions) < maxQuestionsOfCall {
		s.conn.cancelled[uint32(e.Ticket)] = append(questions, &question{rawID: rawID, method: e.Frame.Method})
		return out
	}
	by := s.asker(now, e)
	if e.Frame.Method == protocol.MethodRootsList {
		s.conn.asks.roots = true
		if by.p == nil || by.p.request.Caller.Can&message.CanRoots == 0 {
			return s.reply(protocol.AppendResult(nil, rawID, rootsResult(s.server.Roots)), out)
		}
		// Many servers request the roots after the handshake, without naming a call. That alone must not limit them to one
		// call at a time, since then a call that hangs would block all others.
		by.certain = by.certain || !s.conn.asks.unattributed
	}
	if !by.certain && e.Frame.Method != protocol.MethodRootsList && len(s.conn.byCall) > 0 {
		s.conn.asks.unattributed = true
		out = append(out, kernel.Tell(s.pool, message.UnattributedRequest{Backend: s.self}))
	}
	if code, why := by.refusal(); why != "" {
		return s.reply(protocol.AppendError(nil, rawID, code, why, nil), out)
	}
	return s.passOn(now, e, by, out)
}

// asker is the call that a server's question belongs to.
type asker struct {
	id      uint32
	p       *pending // nil = the call is unknown, or its client is gone
	certain bool     // the server named the call; otherwise it is a guess
}

// refusal returns the error for a question that no client can be asked. The result why is "" if the call's client can be
// asked.
func (by asker) refusal() (code int, why string) {
	switch {
	case by.p == nil && by.certain:
		return codeInvalidRequest, "no client waits for the result of the related task"
	case by.p == nil:
		return codeInvalidRequest, "the gateway cannot tell which call this request belongs to; send it on the call's response stream"
	case len(by.p.questions) >= maxQuestionsOfCall:
		return codeTooManyQuestions, fmt.Sprintf("too many open requests of one call to its client (limit %d)", maxQuestionsOfCall)
	}
	return 0, ""
}

// passOn sends a question to the holder of its call. If the call is certain, passOn tells the pool at once that the
// call is parked. Otherwise it does so after burst: when a call is parked, the pool sends the next one, and further
// questions of the burst would be attributed to that.
func (s *state) passOn(now time.Time, e *upstream.Received, by asker, out []kernel.Effect) []kernel.Effect {
	p := by.p
	s.questions.last++
	s.questions.open[s.questions.last] = &question{rawID: e.Frame.IDBytes(), method: e.Frame.Method, id: by.id}
	p.hasAsked = true
	p.questions = append(p.questions, s.questions.last)
	delete(s.conn.mayAsk, by.id)
	s.remember(&e.Frame, p)
	s.conn.asks.last = lastAsker{by.id, now}
	out = append(out, kernel.Tell(p.call.Holder, message.ServerRequest{Seq: p.call.Seq, Key: s.questions.last, From: s.self, Frame: e.Frame}))
	if len(p.questions) > 1 {
		return out
	}
	if p.certain = by.certain; p.certain {
		return s.reportParked(p, out)
	}
	return append(out, kernel.WakeAfter(burst, burstOver{s.conn.incarnation, by.id}))
}

// asker returns the call that a question belongs to: the one that waits for the end of the named task, or whose HTTP
// response carried the question. Both are certain. Otherwise it is the call that the method speaker returns, unless calls
// of other principals are in progress.
func (s *state) asker(now time.Time, e *upstream.Received) asker {
	task := protocol.RelatedTask(e.Frame.Raw, e.Frame.Params)
	if id := s.waitsFor(task.Of(e.Frame.Raw)); id != 0 {
		return asker{id, s.conn.pending[id], true}
	}
	if p := s.conn.pending[uint32(e.Ticket)]; e.Ticket != 0 && p != nil && p.own == nil {
		return asker{uint32(e.Ticket), p, true}
	}
	if task.Present() {
		return asker{certain: true}
	}
	id, p := s.speaker(now)
	if p != nil && s.hasOthers(p) {
		return asker{}
	}
	return asker{id, p, false}
}

// hasOthers reports whether calls of another principal are in progress, including calls that wait for an answer. A
// guess is good enough among one principal's calls, but no client may see or answer what may belong to another.
func (s *state) hasOthers(p *pending) bool {
	for _, id := range s.conn.byCall {
		if other := s.conn.pending[id]; other != nil && other.own == nil && other.request.Caller.Principal != p.request.Caller.Principal {
			return true
		}
	}
	return false
}

// speaker returns the call that a message without a call probably belongs to: the only running one that does not wait
// for an answer or a task, else the one that asked last, within burst, else the only one. It returns nil if the call cannot
// be guessed.
func (s *state) speaker(now time.Time) (id uint32, p *pending) {
	last := s.conn.pending[s.conn.asks.last.id]
	switch {
	case len(s.conn.mayAsk) > 1:
		return 0, nil
	case len(s.conn.mayAsk) == 1:
		for id = range s.conn.mayAsk {
		}
	case last != nil && last.own == nil && now.Sub(s.conn.asks.last.at) < burst:
		id = s.conn.asks.last.id
	case len(s.conn.byCall) == 1:
		for _, id = range s.conn.byCall {
		}
	default:
		return 0, nil
	}
	return id, s.conn.pending[id]
}

// letAsk records that the server may ask questions during the call.
func (s *state) letAsk(id uint32, p *pending) {
	if !p.namesTask() {
		s.conn.mayAsk[id] = struct{}{}
	}
}

// reportParked reports to the pool that a call waits for its client.
func (s *state) reportParked(p *pending, out []kernel.Effect) []kernel.Effect {
	p.parked = true
	return append(out, kernel.Tell(s.pool, message.CallParked{Backend: s.self, Call: p.call, Yes: true}))
}

// burstOver reports a call as parked after it has had time to ask all its questions.
func (s *state) burstOver(m burstOver, out []kernel.Effect) []kernel.Effect {
	p := s.conn.pending[m.id]
	if p == nil || len(p.questions) == 0 || p.parked {
		return out
	}
	return s.reportParked(p, out)
}

// questionAnswered forgets an answered question. After the last one, the call is no longer parked.
func (s *state) questionAnswered(key uint64, id uint32, p *pending, out []kernel.Effect) []kernel.Effect {
	p.questions = slices.DeleteFunc(p.questions, func(k uint64) bool { return k == key })
	if len(p.questions) > 0 {
		return out
	}
	s.letAsk(id, p)
	if !p.parked {
		return out
	}
	p.parked = false
	return append(out, kernel.Tell(s.pool, message.CallParked{Backend: s.self, Call: p.call}))
}

// answerQuestion forwards a client's answer to the server, once.
func (s *state) answerQuestion(now time.Time, m message.ServerRequestResult, out []kernel.Effect) []kernel.Effect {
	a := s.questions.open[m.Key]
	if a == nil {
		return out
	}
	delete(s.questions.open, m.Key)
	if a.round != nil {
		return s.answerRound(now, a, m, out)
	}
	out = s.reply(answerFrame(a.rawID, m.Result, m.Error), out)
	if p := s.conn.pending[a.id]; p != nil {
		s.conn.asks.last = lastAsker{a.id, now}
		out = s.questionAnswered(m.Key, a.id, p, out)
	}
	return out
}

// answerFrame renders a response with exactly one of result and err, raw JSON.
func answerFrame(id, result, err []byte) []byte {
	if err == nil {
		return protocol.AppendResult(nil, id, result)
	}
	frame := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	frame = append(append(frame, `,"error":`...), err...)
	return append(frame, '}')
}

// questionCancelled handles a question that the server has canceled.
func (s *state) questionCancelled(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	var params protocol.Params
	if params.Scan(&e.Frame) != nil {
		return out
	}
	id := string(params.RequestID.Of(e.Frame.Raw))
	s.removeCancelledQuestion(id)
	for key, a := range s.questions.open {
		if string(a.rawID) != id || a.round != nil {
			continue
		}
		delete(s.questions.open, key)
		if p := s.conn.pending[a.id]; p != nil {
			out = append(out, kernel.Tell(p.call.Holder, message.ServerRequestCanceled{Seq: p.call.Seq, Key: key}))
			out = s.questionAnswered(key, a.id, p, out)
		}
		break
	}
	return out
}

// declineQuestions answers the open questions of a call that ends, so that the server does not wait forever.
func (s *state) declineQuestions(id uint32, out []kernel.Effect) []kernel.Effect {
	for _, key := range s.takeQuestions(id) {
		out = s.decline(s.questions.open[key], out)
		delete(s.questions.open, key)
	}
	return out
}

// withdrawQuestions tells the holder of a call that is sent again on another connection that the open questions of the call are void:
// the connection that could carry the answers has ended. A server without streams of its own can ask before it has read the call.
func (s *state) withdrawQuestions(p *pending, out []kernel.Effect) []kernel.Effect {
	for _, key := range p.questions {
		delete(s.questions.open, key)
		out = append(out, kernel.Tell(p.call.Holder, message.ServerRequestCanceled{Seq: p.call.Seq, Key: key}))
	}
	p.questions = nil
	return out
}

// decline answers a question on behalf of a client that will not answer.
func (s *state) decline(a *question, out []kernel.Effect) []kernel.Effect {
	if a.method == protocol.MethodElicitationCreate {
		return s.reply(protocol.AppendResult(nil, a.rawID, []byte(`{"action":"cancel"}`)), out)
	}
	return s.reply(protocol.AppendError(nil, a.rawID, -1, "the call was canceled before its client answered", nil), out)
}

// dropQuestions forgets the open questions of a call that the server has answered without waiting for them.
func (s *state) dropQuestions(id uint32) {
	for _, key := range s.takeQuestions(id) {
		delete(s.questions.open, key)
	}
}

// takeQuestions returns the keys of a pending call's open questions, oldest first, and removes them from the call.
func (s *state) takeQuestions(id uint32) (keys []uint64) {
	if p := s.conn.pending[id]; p != nil {
		keys, p.questions = p.questions, nil
	}
	return keys
}

// remember records which client got a URL elicitation.
func (s *state) remember(f *protocol.Frame, p *pending) {
	if f.Method == protocol.MethodElicitationCreate {
		s.rememberURL(rawjson.Member(f.Raw, f.Params, "elicitationId").Of(f.Raw), p)
	}
}

// rememberURLs records which client got the URLs of an error -32042, for the notification that their elicitations are
// complete.
func (s *state) rememberURLs(f *protocol.Frame, p *pending) {
	protocol.URLElicitations(f, func(params rawjson.Span) bool {
		s.rememberURL(rawjson.Member(f.Raw, params, "elicitationId").Of(f.Raw), p)
		return true
	})
}

// rememberURL records the id, raw JSON, of a URL elicitation; nil = there is none. It ignores an id of more than 1024
// bytes, and forgets the oldest beyond maxElicited.
func (s *state) rememberURL(id []byte, p *pending) {
	if id == nil || len(id) > 1024 {
		return
	}
	if len(s.questions.elicited) >= maxElicited {
		s.questions.elicited = slices.Delete(s.questions.elicited, 0, 1)
	}
	s.questions.elicited = append(s.questions.elicited, elicitation{string(id), p.call})
}

// elicitationDone forwards the notification only to the client that got the URL elicitation.
func (s *state) elicitationDone(e *upstream.Received, out []kernel.Effect) []kernel.Effect {
	id := string(rawjson.Member(e.Frame.Raw, e.Frame.Params, "elicitationId").Of(e.Frame.Raw))
	for i, known := range s.questions.elicited {
		if known.id == id {
			s.questions.elicited = slices.Delete(s.questions.elicited, i, i+1)
			return append(out, kernel.Tell(known.call.Holder, message.ElicitationDone{Frame: e.Frame}))
		}
	}
	return out
}

// query sends the server a request on behalf of the pool.
func (s *state) query(m message.Query, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Ready {
		return append(out, kernel.Tell(s.pool, message.QueryResult{Backend: s.self, Key: m.Key, Fault: &protocol.Fault{
			Name: protocol.ServerUnavailable, Server: s.server.Name, Retryable: true, Message: "server " + s.server.Name + " is " + string(s.life.phase)}}))
	}
	if s.conn.era == protocol.EraModern {
		switch m.Method {
		case protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe:
			return s.subscribe(m, out)
		}
	}
	out = s.request(m.Method, m.Params, func(s *state, _ time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
		return append(out, kernel.Tell(s.pool, message.QueryResult{Backend: s.self, Key: m.Key, Frame: *f}))
	}, out)
	s.conn.pending[s.conn.lastID].query = m.Key
	return s.expireOwn(out)
}

// expireOwn starts the timer of the gateway request that was just written.
func (s *state) expireOwn(out []kernel.Effect) []kernel.Effect {
	if s.server.Timeout <= 0 {
		return out
	}
	return append(out, kernel.WakeAfter(s.server.Timeout, ownExpired{s.conn.incarnation, s.conn.lastID}))
}
