package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// link handles an event of a link. Older links stay open until their outstanding responses have arrived.
func (s *bridgeState) link(gen uint64, event upstream.Event) {
	if _, open := s.links[gen]; !open {
		return
	}
	switch e := event.(type) {
	case upstream.Received:
		if gen == s.gen {
			s.heard = s.now
		}
		if i := s.away[e.Ticket]; i != nil && isRefusal(&e) {
			e.Frame = withID(e.Frame, i.frame.IDBytes())
		}
		s.received(gen, e.Ticket, e.Frame)
	case upstream.Written:
		if i := s.away[e.Ticket]; i != nil && i.frame.Kind == protocol.KindRequest && s.gate == e.Ticket {
			s.gate = 0
		}
	case upstream.NotSent:
		s.notSent(gen, s.settle(e.Ticket), e.Err)
	case upstream.Ended:
		s.ended(gen, s.settle(e.Ticket), e.Err)
	case upstream.SessionLost:
		s.lostOn(gen, ErrSessionLost)
	case upstream.ListenFailed:
		if gen == s.gen && !e.Final {
			s.probe()
		}
	case upstream.Closed:
		s.closed(gen, e.Err)
	}
	s.pump()
}

// withID returns the error in f as the response to the request with raw id, or f if that is not possible.
func withID(f protocol.Frame, id []byte) protocol.Frame {
	raw := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
	raw = append(append(raw, f.ErrorBytes()...), '}')
	var named protocol.Frame
	if named.Parse(raw) != nil {
		return f
	}
	return named
}

// received handles a message of the gateway.
func (s *bridgeState) received(gen, ticket uint64, f protocol.Frame) {
	switch f.Kind {
	case protocol.KindRequest:
		s.asked(gen, f)
	case protocol.KindNotification:
		if gen == s.gen || ticket != 0 {
			s.notified(gen, f)
		}
	default:
		id := string(f.IDBytes())
		if i := s.away[ticket]; i == nil || string(i.frame.IDBytes()) != id {
			ticket = s.byID[id] // the response arrived on another stream than the request's
		}
		if i := s.settle(ticket); i != nil {
			s.answered(gen, i, f)
		}
	}
}

// answered handles the response to a request of the client or of the bridge.
func (s *bridgeState) answered(gen uint64, i *bridgeItem, f protocol.Frame) {
	switch i.kind {
	case bridgeRequest:
		if f.Kind == protocol.KindError && i.over {
			return // only ends the HTTP exchange; the client has canceled the request
		}
		if f.Kind == protocol.KindError && gen == s.gen && isNotBegun(&f) {
			s.pushFront(*i) // send it to the next gateway
			s.lostOn(gen, errBridgeDraining)
			return
		}
		if f.Kind == protocol.KindError && s.young(gen) && isNotThere(&f) {
			s.sendLater(*i)
			return
		}
		s.remember(i.frame, f.Kind == protocol.KindResult)
		s.tell(f.Raw)
	case bridgeHello:
		if f.Kind == protocol.KindError && isShuttingDown(&f) {
			s.lostOn(gen, errBridgeDraining)
			return
		}
		s.greetedBy(f)
	case bridgeRejoin:
		s.rejoined(f)
	case bridgeAgain:
		if gen == s.gen {
			s.restored(i, f.Kind == protocol.KindResult)
		}
	case bridgePing:
		s.probing = time.Time{}
	}
}

// young reports whether the session replaces another one, and is so new that its gateway may still be starting servers.
func (s *bridgeState) young(gen uint64) bool {
	return gen == s.gen && s.rejoins > 0 && s.now.Sub(s.since) < bridgeSettle
}

func (s *bridgeState) sendLater(i bridgeItem) {
	i.gen, i.until = 0, s.now.Add(bridgeAgainIn)
	s.later = append(s.later, i)
}

// isNotThere reports whether f is a gateway error for an unknown item or a server that is not ready. In both cases no
// server got the request.
func isNotThere(f *protocol.Frame) bool {
	e := &RPCError{}
	if json.Unmarshal(f.ErrorBytes(), e) != nil {
		return false
	}
	switch protocol.FaultName(e.Name()) {
	case protocol.ToolNotFound, protocol.PromptNotFound, protocol.ResourceNotFound, protocol.ServerUnavailable:
		return true
	}
	return false
}

// isShuttingDown reports whether f is the error of a gateway that is shutting down.
func isShuttingDown(f *protocol.Frame) bool {
	e := &RPCError{}
	return json.Unmarshal(f.ErrorBytes(), e) == nil && e.Name() == string(protocol.ShuttingDown)
}

// isNotBegun reports whether f is the error of a gateway that is shutting down, for a request that no server got. An
// interrupted call has the same error, but is not retryable.
func isNotBegun(f *protocol.Frame) bool {
	e := &RPCError{}
	if json.Unmarshal(f.ErrorBytes(), e) != nil || e.Name() != string(protocol.ShuttingDown) {
		return false
	}
	var data struct {
		Retryable bool `json:"retryable"`
	}
	return json.Unmarshal(e.Data, &data) == nil && data.Retryable
}

// notSent handles a message that did not reach the gateway: it requeues the message for the next gateway and abandons
// the session.
func (s *bridgeState) notSent(gen uint64, i *bridgeItem, err error) {
	if i == nil {
		return
	}
	s.putBack(i)
	s.lostOn(gen, err)
}

// putBack requeues a message that was not executed, if it is a request of the client or a notification for the current
// session. Canceled requests, responses and the bridge's own requests are dropped.
func (s *bridgeState) putBack(i *bridgeItem) {
	note := i.kind == bridgeNote && i.frame.Kind == protocol.KindNotification && i.gen == s.gen
	if !i.over && (i.kind == bridgeRequest || note) {
		s.pushFront(*i)
	}
}

// ended handles an exchange that ended without a response.
func (s *bridgeState) ended(gen uint64, i *bridgeItem, err error) {
	switch {
	case i == nil:
		return
	case errors.Is(err, upstream.ErrSessionLost):
		s.putBack(i)
		s.lostOn(gen, ErrSessionLost)
		return
	case i.kind == bridgeHello && deniedBy(err) != nil:
		s.greetedBy(denied(i.frame, deniedBy(err)))
		return
	case i.kind == bridgeHello, i.kind == bridgeRejoin, i.kind == bridgePing:
		s.lostOn(gen, err)
		return
	case i.kind == bridgeRequest && !i.over && deniedBy(err) != nil:
		s.tell(denied(i.frame, deniedBy(err)).Raw)
		return
	case i.kind == bridgeRequest && !i.over:
		s.failed(i.frame, err)
	case i.kind == bridgeNote && err == nil && i.frame.Method == protocol.NotificationInitialized && gen == s.gen:
		s.do(bridgeListen{gen})
	}
	if err != nil && gen == s.gen && !i.over {
		s.probe()
	}
}

// failed answers a request that may have been executed. The error is marked as retryable only if the method changes
// nothing.
func (s *bridgeState) failed(f protocol.Frame, err error) {
	message := "The connection to the gateway was lost after the request was sent"
	if status, ok := errors.AsType[*upstream.StatusError](err); ok {
		message = fmt.Sprintf("The gateway answered HTTP %d", status.Code)
	}
	s.refuse(f, protocol.BackendDisconnected, message, f.Method.Repeatable())
}

// denied returns the gateway's error about authentication or rate limits as the response to a request.
func denied(request protocol.Frame, why *RPCError) protocol.Frame {
	var f protocol.Frame
	data := why.Data
	if data == nil {
		data = json.RawMessage("null")
	}
	_ = f.Parse(protocol.AppendError(nil, request.IDBytes(), why.Code, why.Message, data)) // cannot fail
	return f
}

// closed handles the unexpected end of a link.
func (s *bridgeState) closed(gen uint64, err error) {
	err = cmp.Or(err, upstream.ErrClosed)
	s.lostOn(gen, err)
	for _, ticket := range sorted(s.away) {
		if s.away[ticket].gen == gen {
			s.ended(gen, s.settle(ticket), err)
		}
	}
	delete(s.links, gen)
	s.withdrawAsks(gen)
}
