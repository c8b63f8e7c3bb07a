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

// link handles what a link tells. Links that are not the newest live on for the answers still to come on them.
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

// withID is an error for the request with that raw id; the frame itself when it cannot be one.
func withID(f protocol.Frame, id []byte) protocol.Frame {
	raw := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
	raw = append(append(raw, f.ErrorBytes()...), '}')
	var named protocol.Frame
	if named.Parse(raw) != nil {
		return f
	}
	return named
}

// received sorts a message of the gateway.
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
			ticket = s.byID[id] // on another stream than that of its request
		}
		if i := s.settle(ticket); i != nil {
			s.answered(gen, i, f)
		}
	}
}

// answered handles the answer to a request, the client's or ours.
func (s *bridgeState) answered(gen uint64, i *bridgeItem, f protocol.Frame) {
	switch i.kind {
	case bridgeRequest:
		if f.Kind == protocol.KindError && i.over {
			return // the end of the HTTP exchange, which a pipe does not have
		}
		if f.Kind == protocol.KindError && gen == s.gen && isNotBegun(&f) {
			s.pushFront(*i) // the next gateway will carry it out
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

// young reports whether the session follows another and is so new that its gateway may still be starting servers.
func (s *bridgeState) young(gen uint64) bool {
	return gen == s.gen && s.rejoins > 0 && s.now.Sub(s.since) < bridgeSettle
}

func (s *bridgeState) sendLater(i bridgeItem) {
	i.gen, i.until = 0, s.now.Add(bridgeAgainIn)
	s.later = append(s.later, i)
}

// isNotThere reports the gateway's own error for what is in no catalog, or of a server that is not ready: none was asked.
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

// isShuttingDown reports the gateway's error for what comes while it drains.
func isShuttingDown(f *protocol.Frame) bool {
	e := &RPCError{}
	return json.Unmarshal(f.ErrorBytes(), e) == nil && e.Name() == string(protocol.ShuttingDown)
}

// isNotBegun reports isShuttingDown of a request no server has had: a call that was cut off in the middle says the same, but
// not that it may be sent again.
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

// notSent handles what certainly never reached the gateway: it waits for the next one.
func (s *bridgeState) notSent(gen uint64, i *bridgeItem, err error) {
	if i == nil {
		return
	}
	s.putBack(i)
	s.lostOn(gen, err)
}

// putBack makes a message wait again that was not carried out.
func (s *bridgeState) putBack(i *bridgeItem) {
	note := i.kind == bridgeNote && i.frame.Kind == protocol.KindNotification && i.gen == s.gen
	if !i.over && (i.kind == bridgeRequest || note) {
		s.pushFront(*i)
	}
}

// ended handles the end of an exchange without an answer in it.
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
	case i.kind == bridgeNote && err == nil && i.frame.M == protocol.NotificationInitialized && gen == s.gen:
		s.do(bridgeListen{gen})
	}
	if err != nil && gen == s.gen && !i.over {
		s.probe()
	}
}

// failed answers a request that may have been carried out. Only what changes nothing may simply be sent again.
func (s *bridgeState) failed(f protocol.Frame, err error) {
	message := "The connection to the gateway was lost after the request had been sent"
	if status, ok := errors.AsType[*upstream.StatusError](err); ok {
		message = fmt.Sprintf("The gateway refused the request with HTTP status %d", status.Code)
	}
	s.refuse(f, protocol.BackendDisconnected, message, f.M.Repeatable())
}

// denied is the gateway's word about who asks as the answer to the request that it has not read.
func denied(request protocol.Frame, why *RPCError) protocol.Frame {
	var f protocol.Frame
	data := why.Data
	if data == nil {
		data = json.RawMessage("null")
	}
	_ = f.Parse(protocol.AppendError(nil, request.IDBytes(), why.Code, why.Message, data)) // we have just written it
	return f
}

// closed handles the end of a link nobody wanted to end.
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
