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
	questionWindow = 30 * time.Millisecond // server requests that arrive within it go out together
	returnGrace    = 5 * time.Second       // how long a call that is not parked continues for a client that has left, but may return with its state
	keptMessages   = 32                    // maximum number of progress and log messages of a call kept while no request waits
)

// state is the stateless session's entire state. Only step modifies it.
type state struct {
	number   uint32
	node     string // name of this process; states of other processes are refused
	count    int
	limits   config.Limits
	sealer   *seal.Sealer
	registry kernel.Reference
	gateway  kernel.Reference
	self     kernel.Reference

	startup    startup
	principals message.Principals                                                            // the newest
	calls      clientcalls.Calls[*heldCall, clientcalls.Requester, message.StatelessRequest] // by the client's request
	clients    map[string]*usage                                                             // what each client has in flight and parked, by client key
	levels     levels
	resumed    resumedStates // states with which clients have returned, for tools with a rate limit
	outcomes   outcomes
	memo       memo
	edits      []rawjson.Edit // of the current answer; reused
	draining   bool
	drained    bool // the gateway was told that no client waits for an answer
}

func newState(o Options, self kernel.Reference) *state {
	s := &state{
		number: uint32(o.Number), node: o.Node, count: o.Count, limits: o.Limits, sealer: o.Sealer,
		registry: o.Registry, gateway: o.Gateway, self: self, startup: startup{awaited: o.Expect}, clients: map[string]*usage{},
	}
	s.calls = clientcalls.New[*heldCall, clientcalls.Requester](s, self)
	s.calls.KeepPayloads(o.Payloads)
	return s
}

// step applies msg to s at the time now and appends the resulting effects to out.
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

// clientStep handles requests of clients, and their departure.
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

// callStep handles messages about calls, and their timers.
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

// lifeStep handles the beginning and end of the actor, and reports.
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
		s.limits = m.Limits
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Started:
		// After a restart, no client waits for this actor anymore. The gateway needs to know this if it is draining.
		out = append(out, kernel.Tell(s.gateway, message.Drained{From: s.self}), kernel.Tell(s.registry, message.Subscribe{From: s.self}), kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
	case kernel.Stopping:
		return s.stop(now, out), true
	default:
		return out, false
	}
	return out, true
}

// clientsWait reports whether a client waits for the answer to a call, or a reply for the audit log. A parked call does not
// count: its client may never return.
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

// stop answers every call and waiting request, and cancels the calls at the servers.
func (s *state) stop(now time.Time, out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway is shutting down", Retryable: true}
	s.draining = true
	out = s.serveWaiting(now, out)
	for _, m := range s.calls.Waiting() {
		out = append(out, kernel.Act(reply.Refuse{X: m.Exchange, Fault: fault}))
	}
	out = s.calls.EndAll(now, func(*heldCall) bool { return true }, fault.Message, fault, out)
	return append(out, kernel.Tell(s.registry, message.Unsubscribe{From: s.self}))
}

// report returns the calls for the status.
func (s *state) report() message.SessionReport {
	return message.SessionReport{Calls: s.calls.Report("desk", func(v *heldCall) string { return message.NameOf(v.who) }, s.waits)}
}
