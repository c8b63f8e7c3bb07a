package relay

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

const (
	retryAfter = time.Second // of requests that were not executed
	maxError   = 16 << 10    // a larger response is not searched for an error code
)

var overloaded = &protocol.Fault{Name: protocol.Overloaded, Message: "too many requests are being passed on to other nodes of the cluster; try again later",
	Retryable: true, RetryAfter: retryAfter}

// answer gives the client a whole response.
func (p *passing) answer(r *response, pieces [][]byte) (outcome, error) {
	var body []byte
	if len(pieces) > 0 {
		body = pieces[0]
	}
	if p.stream != nil {
		if r.status < 300 {
			return lost, errResponse
		}
		p.stream.Refuse(r.status, slices.Concat(pieces...), r.retryAfter)
		return ended, nil
	}
	x := p.x
	if r.session != "" {
		x.SetSession(r.session)
	}
	x.Report.Code = codeOf(pieces)
	ok := r.status == http.StatusOK && len(pieces) > 0
	switch { // JSON for a client that accepts only events is a refusal
	case ok && r.events:
		x.AnswerEvents(slices.Concat(pieces...))
	case ok && r.retryAfter == 0 && len(pieces) == 1 && !p.origin.EventsOnly:
		x.Answer(protocol.Message{Frame: body, Newline: true})
	case ok && r.retryAfter == 0 && !p.origin.EventsOnly:
		x.AnswerPieces(pieces, true, nil)
	case body == nil && (p.verb == http.MethodPost && r.status == http.StatusAccepted || p.verb == http.MethodDelete && r.status == http.StatusNoContent):
		x.Accept()
	default:
		x.Refuse(r.status, slices.Concat(pieces...), r.retryAfter)
	}
	return ended, nil
}

// codeOf returns the error code in a response, for the metrics; 0 = none, or the response is large.
func codeOf(pieces [][]byte) int {
	var f protocol.Frame
	if len(pieces) != 1 || len(pieces[0]) > maxError || f.Parse(pieces[0]) != nil || f.Kind != protocol.KindError {
		return 0
	}
	code, _ := protocol.ErrorNumber(&f)
	return code
}

// answerGone answers a request for a node that is gone, if no other node can take over. These have ended with the node: sessions that
// cannot move, its requests to clients, and the calls whose streams it kept.
func (p *passing) answerGone() {
	call, is := cluster.NodeOfEvent(p.origin.LastEvent)
	switch {
	case p.stream != nil && is && call == p.incarnation:
		p.answerLostCall()
	case p.stream != nil:
		p.stream.Refuse(http.StatusNotFound, nil, 0)
	case p.x.Batch == nil && (p.x.Frame.Kind == protocol.KindResult || p.x.Frame.Kind == protocol.KindError):
		message.RefuseFault(p.x, http.StatusGone, p.lostFault())
	case p.x.Batch == nil && p.era() == protocol.EraModern:
		message.RefuseModern(p.x, goneFault(p.x))
	default:
		message.RefuseNoSession(p.x)
	}
}

// goneFault is the error of a modern request that only a node that is gone could have served: it continues a call or names a task there.
func goneFault(x *downstream.Exchange) *protocol.Fault {
	if x.Params.RequestState.Present() {
		return &protocol.Fault{Name: protocol.RequestStateInvalid, Message: "the node that has asked for this input is gone; call again without requestState"}
	}
	return protocol.BadParams("Unknown task: the node that has created it is gone")
}

// answerLostCall answers a client that resumes the stream of a call whose node is gone: the stream has the call's error.
func (p *passing) answerLostCall() {
	request := downstream.RequestOfEvent(p.origin.LastEvent, p.incarnation+cluster.EventMark)
	if request == nil {
		message.RefuseStream(p.stream, http.StatusBadRequest, p.lostFault())
		return
	}
	p.through.Open()
	frame := p.lostFault().AppendTo(nil, request, protocol.EraLegacy)
	if _, err := p.through.Write(protocol.AppendSSE(nil, "message", "", protocol.Message{Frame: frame})); err != nil {
		p.through.Break()
		return
	}
	p.through.Close()
}

// answerFailure answers a request that was not passed on, or whose response was lost. After ended it does nothing.
func (p *passing) answerFailure(end outcome, target Target, err error) {
	if end == ended {
		return
	}
	if p.hasLeft() {
		if p.x != nil {
			p.x.Report.Cancelled = true
		}
		p.through.Break()
		return
	}
	switch {
	case end == lost && p.x != nil:
		if p.relay.o.Log != nil {
			p.relay.o.Log.Debug("a relayed request was lost", "node", target.Node, "err", err)
		}
		p.refuse(p.lostFault())
	case end == misdirected:
		p.refuse(&protocol.Fault{Name: protocol.ServerUnavailable, Retryable: true, RetryAfter: retryAfter,
			Message: "the nodes of the cluster do not agree on which of them has this session; the request was not executed"})
	default:
		p.relay.warn(target, err)
		p.refuse(&protocol.Fault{Name: protocol.ServerUnavailable, Retryable: true, RetryAfter: retryAfter,
			Message: "node " + target.Node + " of the cluster, which has this session, cannot be reached; the request was not executed"})
	}
}

// lostFault returns the error of a request whose node is gone. The request can be repeated if its method has no side effects.
func (p *passing) lostFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.NodeLost, Retryable: p.x != nil && p.x.Batch == nil && p.x.Frame.Method.Repeatable()}
}

// answerTooLarge answers a request whose response is too large. It returns false for another error.
func (p *passing) answerTooLarge(err error) bool {
	switch {
	case p.x == nil:
		return false
	case errors.Is(err, errNoRoom):
		p.x.AnswerNoRoom()
	case errors.Is(err, errTooLarge):
		p.refuse(&protocol.Fault{Name: protocol.MessageTooLarge, Message: "the request was executed, but its response is too large to be passed on (limits.maxMessageBytes)"})
	default:
		return false
	}
	return true
}

func (p *passing) era() protocol.Era {
	return protocol.EraOf(p.origin.Repeated(), &p.x.Frame, &p.x.Params)
}

// refuse answers with an error of this node.
func (p *passing) refuse(fault *protocol.Fault) {
	switch {
	case p.stream != nil:
		message.RefuseStream(p.stream, http.StatusServiceUnavailable, fault)
	case p.x.Batch != nil:
		p.refuseBatch(fault)
	default:
		refuse(p.x, fault, p.era())
	}
}

// refuseBatch answers each request of a batch with the error. A batch without requests is refused as a whole.
func (p *passing) refuseBatch(fault *protocol.Fault) {
	members, err := p.x.Split()
	if err != nil || !slices.ContainsFunc(members, func(m *downstream.Exchange) bool { return m.Frame.Kind == protocol.KindRequest }) {
		message.RefuseFault(p.x, http.StatusServiceUnavailable, fault)
		return
	}
	for _, member := range members {
		refuse(member, fault, protocol.EraLegacy)
	}
}

// refuse answers a message with an error. The answer to a request has its id and the error's status, which is 200 for most errors.
// Other messages get status 503.
func refuse(x *downstream.Exchange, fault *protocol.Fault, era protocol.Era) {
	status, id := http.StatusServiceUnavailable, []byte("null")
	if x.Frame.Kind == protocol.KindRequest {
		status, id = fault.Status(era), x.Frame.IDBytes()
	}
	x.Report.Code = fault.Code(era)
	x.Refuse(status, fault.AppendTo(nil, id, era), fault.RetryAfter)
}
