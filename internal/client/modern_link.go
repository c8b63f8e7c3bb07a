package client

import (
	"cmp"
	"errors"
	"fmt"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// link handles an event of the link.
func (s *modernState) link(gen uint64, event upstream.Event) {
	if gen != s.gen || !s.open {
		return
	}
	switch e := event.(type) {
	case upstream.Received:
		s.received(e)
	case upstream.NotSent:
		if i := s.settle(e.Ticket); i != nil {
			s.wait(i)
			s.down(e.Err)
		}
	case upstream.Ended:
		if i := s.settle(e.Ticket); i != nil {
			s.ended(i, e.Err)
		}
	case upstream.Closed:
		s.closed(e.Err)
	}
	s.pump()
}

// received handles a message in the response to a request.
func (s *modernState) received(e upstream.Received) {
	i := s.away[e.Ticket]
	if i == nil {
		return // the client has canceled the request
	}
	if e.Frame.Kind == protocol.KindNotification {
		s.up()
		s.notified(i, e.Frame)
		return
	}
	if isRefusal(&e) {
		e.Frame = withID(e.Frame, i.frame.IDBytes())
	}
	if !e.Last && string(e.Frame.IDBytes()) != string(i.frame.IDBytes()) {
		return
	}
	s.settle(e.Ticket)
	s.answered(i, e.Frame)
}

// answered handles the response to a request.
func (s *modernState) answered(i *modernItem, f protocol.Frame) {
	failed := f.Kind == protocol.KindError
	switch {
	case failed && isNotBegun(&f):
		s.wait(i) // send it to the next gateway
		s.down(errBridgeDraining)
		return
	case i.own:
		s.up()
		s.lookedUp(i, f)
		return
	case failed && s.young() && isNotThere(&f):
		i.until = s.now.Add(bridgeAgainIn)
		s.later = append(s.later, *i)
		return
	case failed && s.lookUp(i, f):
		return
	case i.listen && i.acked && !failed:
		s.wait(i) // a gateway that stops ends its streams
		s.down(errBridgeDraining)
		return
	}
	s.up()
	s.lookup.learn(i.frame, f)
	s.tell(f.Raw)
}

// ended handles an exchange that ended without a response.
func (s *modernState) ended(i *modernItem, err error) {
	switch why := deniedBy(err); {
	case i.frame.Kind != protocol.KindRequest:
	case i.own:
		s.lookup.over()
		s.down(cmp.Or(err, upstream.ErrClosed))
	case why != nil:
		s.tell(denied(i.frame, why).Raw)
	case i.listen && i.acked:
		s.wait(i)
		s.down(cmp.Or(err, upstream.ErrClosed))
	default:
		message := "The connection to the gateway was lost after the request was sent"
		if status, ok := errors.AsType[*upstream.StatusError](err); ok {
			message = fmt.Sprintf("The gateway answered HTTP %d", status.Code)
		}
		s.refuse(i.frame, protocol.BackendDisconnected, message, i.frame.Method.Repeatable())
	}
}

// closed handles the unexpected end of the link.
func (s *modernState) closed(err error) {
	s.open = false
	err = cmp.Or(err, upstream.ErrClosed)
	for _, ticket := range sorted(s.away) {
		s.ended(s.settle(ticket), err)
	}
	s.down(err)
}

// up records that the gateway responds.
func (s *modernState) up() {
	if s.phase != bridgeReady {
		s.phase, s.since, s.pause = bridgeReady, s.now, bridgeMin
	}
}

// down pauses sending, because the gateway does not respond or is shutting down.
func (s *modernState) down(err error) {
	if s.phase == bridgeDown {
		return
	}
	s.phase, s.lost, s.why = bridgeDown, true, err.Error()
	s.retryAt = s.now.Add(s.pause)
	s.pause = min(2*s.pause, bridgeMax)
}

// young reports whether the gateway has returned so recently that it may still be starting servers.
func (s *modernState) young() bool {
	return s.lost && (s.phase != bridgeReady || s.now.Sub(s.since) < bridgeSettle)
}
