package session

import (
	"fmt"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// start subscribes to the catalog and sets the timers.
func (s *state) start(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.life.since, s.life.lastSeen = now, now
	out = append(out, kernel.Tell(s.registry, message.Subscribe{From: s.self}))
	if s.transport != "stdio" {
		out = append(out, kernel.WakeAfter(s.idleLimit(), idleCheck{s.life.checks}))
	}
	if s.client.awaitedServers > 0 {
		out = append(out, kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
	}
	if s.transport == "sse" {
		out = append(out, kernel.WakeAfter(openWait, openTimeout{}))
	}
	return s.askFirst(now, out)
}

// busy reports whether the session has calls, or messages that wait until a new guest can serve them.
func (s *state) busy() bool { return s.calls.Len() > 0 || s.guest != nil && len(s.guest.waiting) > 0 }

// endSession ends the session for its client's DELETE.
func (s *state) endSession(m message.EndSession, out []kernel.Effect) []kernel.Effect {
	if !s.isTheirs(m.Who) {
		x := m.Exchange
		return s.calls.AuditStranger(m.Who, &x.Origin, "end", append(out, kernel.Act(notFound{x})))
	}
	if refusal := admission.CheckProject(m.Admitted, s.catalog.key, nil); refusal != nil {
		return append(out, kernel.Act(refuseAdmission{m.Exchange, refusal}))
	}
	if out, passed := s.notHere(m, out); passed {
		return out
	}
	s.life.deleted = m.Exchange
	return append(out, kernel.StopSelf())
}

// errOnlySession refuses an operator's request to end the session of the client on stdin, which could not begin another one.
var errOnlySession = fmt.Errorf("%w: the client on stdin has only this session; end the client instead", status.ErrBadAction)

// endByOperator ends the session on an operator's request.
func (s *state) endByOperator(m message.End, out []kernel.Effect) []kernel.Effect {
	if !m.Aim.Began(s.life.since) {
		m.Answer(status.ErrRestarted)
		return out
	}
	if s.transport == "stdio" {
		m.Answer(errOnlySession)
		return out
	}
	m.Answer(nil)
	s.life.endedByOperator = true
	return append(out, kernel.StopSelf())
}

// idle ends a session without calls or streams that has received nothing for its idle limit.
func (s *state) idle(now time.Time, out []kernel.Effect) []kernel.Effect {
	rest := s.life.lastSeen.Add(s.idleLimit()).Sub(now)
	if rest <= 0 && len(s.streams) == 0 && s.calls.Len() == 0 {
		return append(out, kernel.StopSelf())
	}
	if rest <= 0 {
		rest = s.idleLimit()
	}
	return s.askAgain(now, append(out, kernel.WakeAfter(rest, idleCheck{s.life.checks})))
}

func (s *state) leaveWhenDrained(out []kernel.Effect) []kernel.Effect {
	if s.life.draining && !s.calls.Busy() {
		return append(out, kernel.StopSelf())
	}
	return out
}

// stop answers every call and waiting request, cancels the calls at the servers, and closes the streams.
func (s *state) stop(now time.Time, reason string, out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the session ended before the call was answered", Retryable: true}
	why := "the session ended"
	switch {
	case s.principal.revoked:
		fault = message.Revoked
	case s.life.endedByOperator:
		why = "an operator ended the session"
		fault = &protocol.Fault{Name: protocol.ShuttingDown, Message: "an operator of the gateway ended the session before the call was answered", Retryable: true}
	}
	out = s.calls.EndAll(now, func(*heldCall) bool { return true }, why, fault, out)
	if s.client.earlyInitialize != nil {
		out = append(out, kernel.Act(refuse{s.client.earlyInitialize, 503, fault}))
	}
	out = s.answerWaiting(s.refuseEnqueued(fault, out))
	if reason != kernel.WhyShutdown && !s.life.draining && !s.isGuest() {
		out = s.dropFrom(s.noting.heir, out)
	}
	for _, x := range s.calls.Waiting() {
		out = s.fault(x, fault, out)
	}
	for _, seq := range kernel.SortedKeys(s.subs.reserving) {
		if h := s.subs.reserving[seq]; h.x != nil {
			out = s.fault(h.x, fault, out)
		}
	}
	for _, seq := range kernel.SortedKeys(s.subs.pending) {
		if x := s.subs.pending[seq].x; x != nil {
			out = s.fault(x, fault, out)
		}
	}
	for _, seq := range kernel.SortedKeys(s.client.pendingLevels) {
		out = s.fault(s.client.pendingLevels[seq], fault, out)
	}
	out = s.tellClientGone(clientsubs.UnsubscribeAll(s.subs.pools, s.self, out))
	for _, stream := range s.streams {
		out = append(out, kernel.Act(closeStream{stream}))
	}
	out = append(out, kernel.Act(endReplay{}), kernel.Tell(s.registry, message.Unsubscribe{From: s.self}))
	if s.guest != nil {
		out = append(out, kernel.Act(guestEnded{max(s.calls.Last(), s.questions.last)}))
	}
	if !s.isGuest() && s.client.initialized && !s.life.draining { // the session of a node that stops has not ended
		out = s.tellEnded(out)
	}
	if s.life.deleted == nil {
		return out
	}
	return append(s.releaseAll(out), kernel.Act(refuse{s.life.deleted, 204, nil})) // last: the client gets its answer after the subscriptions are freed
}

// report returns the session's part of the status. It may change while bytes wait for the client.
func (s *session) report() message.SessionReport {
	r := s.state.report()
	for _, stream := range s.state.streams {
		r.Session.Unsent += stream.Unsent()
	}
	for _, h := range s.state.calls.All() {
		if h.listing == nil { // the queries of a tasks/list share its exchange
			r.Session.Unsent += h.x.Unsent()
		}
	}
	r.Session.Dropped, r.Changing = s.dropped, r.Session.Unsent > 0
	return r
}

// report returns the part of the status that the state knows. The session's id is a secret, so only its first eight characters appear.
func (s *state) report() message.SessionReport {
	r := message.SessionReport{Session: status.Session{
		ID: shortID(s.id), Client: s.client.name, Who: message.NameOf(s.principal.who), Project: s.catalog.key.Project, Protocol: s.client.version, Transport: s.transport,
		Since: s.life.since, LastSeen: s.life.lastSeen, InFlight: s.calls.Len(), Streams: len(s.streams), Guest: s.isGuest(),
	}}
	r.Calls = s.calls.Report(r.Session.ID, func(*heldCall) string { return r.Session.Who }, func(h *heldCall) []string { return s.questions.texts(h.Seq) })
	r.Subscriptions = clientsubs.ReportSubscriptions(shortID(s.id), r.Session.Who, s.subs.active)
	return r
}
