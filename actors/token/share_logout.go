package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// endShared empties the shared record for a logout. Only the node that has emptied it revokes the tokens at the authorization server.
// own is the login of this node.
func (s *state) endShared(now time.Time, l *logout, own record, out []kernel.Effect) []kernel.Effect {
	h := s.share
	e := &ending{number: s.requests.next(), logout: l, own: own, apart: h.unsaved}
	s.logouts.await(l, e.number)
	h.ending = append(h.ending, e)
	h.opening, h.writing, h.unsaved = false, false, false
	return s.perform(now, h.claims.Replace(now, nil, nil), out)
}

// endAll completes the logouts that wait. previous is the login that the record contained; nil if another node has ended it before.
func (s *state) endAll(previous json.RawMessage, out []kernel.Effect) []kernel.Effect {
	waiting := s.share.ending
	s.share.ending = nil
	var was record
	if json.Unmarshal(previous, &was) != nil {
		was = record{}
	}
	for _, e := range waiting {
		if !e.told {
			out = s.revokeOnce(e, was, out)
		}
		was = record{}
		if l := s.logouts.received(e.number); l != nil {
			out = s.logouts.settle(l, out)
		}
	}
	return out
}

// revokeOnce revokes the login that the record contained, and that of this node if it was not in the record.
func (s *state) revokeOnce(e *ending, was record, out []kernel.Effect) []kernel.Effect {
	out = s.logouts.revoke(&s.requests, e.logout, was.Site, was.Client, was.Token, out)
	if !e.apart || e.own.Token.Access == was.Token.Access {
		return out
	}
	return s.logouts.revoke(&s.requests, e.logout, e.own.Site, e.own.Client, e.own.Token, out)
}

// endAnyway answers the waiting logouts before the record is empty, and revokes the tokens. This ends the login on all nodes if the
// authorization server supports revocation.
func (s *state) endAnyway(err error, out []kernel.Effect) []kernel.Effect {
	for _, e := range s.share.ending {
		if e.told {
			continue
		}
		e.told = true
		e.logout.err = errors.Join(e.logout.err, fmt.Errorf("%w: %w", message.ErrStillShared, err))
		out = s.logouts.revoke(&s.requests, e.logout, e.own.Site, e.own.Client, e.own.Token, out)
		if l := s.logouts.received(e.number); l != nil {
			out = s.logouts.settle(l, out)
		}
	}
	s.share.ending = s.share.ending[:min(len(s.share.ending), 1)] // all were answered; the first one keeps what the record contained
	return out
}

// forget removes the login from the state of this node, but neither from the state file nor from the record.
func (s *state) forget(out []kernel.Effect) []kernel.Effect {
	s.record, s.current, s.phase = record{}, nil, none
	s.demand.scopes, s.demand.stepUps = nil, 0
	s.renewal = renewal{
		timer: s.renewal.timer + 1, published: s.renewal.published, failures: s.renewal.failures, looped: s.renewal.looped, adopted: s.renewal.adopted,
	}
	return append(out, kernel.Act(publish{}))
}
