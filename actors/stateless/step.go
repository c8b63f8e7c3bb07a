package stateless

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

const (
	questionWindow = 30 * time.Millisecond // questions that come so close to each other go out together
	returnGrace    = 5 * time.Second       // a client that left may come back with the same state for so long
	keptMessages   = 32                    // progress and log lines kept between rounds
)

// state is the stateless session's entire state. Only step modifies it.
type state struct {
	number   uint32
	node     string // names this process: a state of another one leads to no call of ours
	count    int
	limits   config.Limits
	sealer   *seal.Sealer
	registry kernel.Reference
	gateway  kernel.Reference
	self     kernel.Reference

	startup    startup
	principals message.Principals                                                            // the newest
	calls      clientcalls.Calls[*heldCall, clientcalls.Requester, message.StatelessRequest] // by the requests that a notification may cancel
	clients    map[string]*usage                                                             // what each client has in flight and parked, by client key
	levels     levels
	resumed    resumedStates // states of tools with a rate limit
	outcomes   outcomes
	memo       memo
	edits      []rawjson.Edit // of the answer at hand
	draining   bool
	drained    bool // the gateway was told that no client waits any more
}

func newState(o Options, self kernel.Reference) *state {
	s := &state{
		number: uint32(o.Number), node: o.Node, count: o.Count, limits: shareOfLimits(o.Limits, o.Count), sealer: o.Sealer,
		registry: o.Registry, gateway: o.Gateway, self: self, startup: startup{awaited: o.Expect}, clients: map[string]*usage{},
	}
	s.calls = clientcalls.New[*heldCall, clientcalls.Requester](s, self)
	return s
}

// deskLimits are a desk's part of the limits.
func shareOfLimits(limits config.Limits, desks int) config.Limits {
	limits.MaxInFlightPerClient = share(limits.MaxInFlightPerClient, desks)
	limits.ParkedPerClient = share(limits.ParkedPerClient, desks)
	return limits
}

// deskShare is a desk's part of a limit for one client: requests are dealt round-robin. 0 stays 0, no limit.
func share(limit, desks int) int { return (limit + max(1, desks) - 1) / max(1, desks) }

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	out = s.handle(now, msg, out)
	if s.draining && !s.drained && !s.clientsWait() {
		s.drained = true
		return append(out, kernel.Tell(s.gateway, message.Drained{From: s.self}))
	}
	return out
}

// handle routes a message to the part of the state that it is about.
func (s *state) handle(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	for _, route := range [...]func(*state, time.Time, any, []kernel.Effect) ([]kernel.Effect, bool){
		(*state).clientStep, (*state).callStep, (*state).lifeStep,
	} {
		if out, handled := route(s, now, msg, out); handled {
			return out
		}
	}
	return out
}

// clientStep takes what clients send, and that they leave.
func (s *state) clientStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.StatelessRequest:
		return s.request(now, m, out), true
	case message.CancelStateless:
		return s.cancelRequest(now, clientcalls.RequesterOf(m), out), true
	case reply.Departed:
		return s.clientLeft(now, m, out), true
	}
	return out, false
}

// callStep takes what is said of calls, and their timers.
func (s *state) callStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case graceOver:
		if v := s.calls.Held(m.seq); v != nil && v.timerGen == m.gen && len(v.exchanges) == 0 && v.State != call.Parked {
			out = s.calls.Apply(now, m.seq, call.Withdrawn{Reason: "the client left"}, out)
		}
		return out, true
	case windowOver:
		if v := s.calls.Held(m.seq); v != nil && v.timerGen == m.gen {
			out = s.park(now, v, out)
		}
		return out, true
	case levelDue:
		return s.levelDue(out), true
	case tidy:
		return s.tidy(now, out), true
	}
	return s.calls.Step(now, msg, out)
}

// lifeStep takes what begins and ends the actor, and what people ask about it.
func (s *state) lifeStep(now time.Time, msg any, out []kernel.Effect) (_ []kernel.Effect, handled bool) {
	switch m := msg.(type) {
	case message.Principals:
		return s.principalsChanged(now, m, out), true
	case message.Published:
		s.startup.snapshot = m.Snapshot
		return s.serveWaiting(now, out), true
	case admission.StartWaitOver:
		s.startup.over, s.startup.awaited = true, 0
		return s.serveWaiting(now, out), true
	case message.DrainSession:
		s.draining = true
		return s.serveWaiting(now, out), true
	case message.NewLimits:
		s.limits = shareOfLimits(m.Limits, s.count)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Started:
		// After a restart no client waits for this actor any more, and a gateway that drains would not hear of it otherwise.
		out = append(out, kernel.Tell(s.gateway, message.Drained{From: s.self}), kernel.Tell(s.registry, message.Subscribe{Who: s.self}), kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
	case kernel.Stopping:
		return s.stop(now, out), true
	default:
		return out, false
	}
	return out, true
}

// waitedFor reports whether somebody waits for the answer to a call, or it for the audit log. A parked call waits for its client, who may never come.
func (s *state) clientsWait() bool {
	if s.calls.Unsent() > 0 {
		return true
	}
	for _, v := range s.calls.All() {
		if len(v.exchanges) > 0 {
			return true
		}
	}
	return false
}

// stop answers every call and tells the servers.
func (s *state) stop(now time.Time, out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is shutting down", Retryable: true}
	s.draining = true
	out = s.serveWaiting(now, out)
	for _, m := range s.calls.Waiting() {
		out = append(out, kernel.Act(reply.Refuse{X: m.Exchange, Fault: fault}))
	}
	out = s.calls.EndAll(now, func(*heldCall) bool { return true }, fault.Message, fault, out)
	return append(out, kernel.Tell(s.registry, message.Unsubscribe{Who: s.self}))
}

// report is what the desk tells people: its calls, parked ones with their deadline.
func (s *state) report() message.SessionReport {
	return message.SessionReport{Calls: s.calls.Report("desk", func(v *heldCall) string { return message.NameOf(v.who) })}
}
