package stateless

import (
	"cmp"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

const (
	questionWindow = 30 * time.Millisecond // questions that come so close to each other go out together
	returnGrace    = 5 * time.Second       // a client that left may come back with the same state for so long
	keptMessages   = 32                    // progress and log lines kept between rounds
)

// state is all a desk knows. Written by step only.
var _ clientcalls.Holder[*heldCall, message.StatelessRequest] = (*state)(nil)

type state struct {
	number   uint32
	node     string // this process: a state of another one leads to no call of ours
	desks    int
	limits   config.Limits
	sealer   *seal.Sealer
	registry kernel.Reference
	owner    kernel.Reference
	self     kernel.Reference

	principals     message.Principals // what has become of them
	snapshot       *catalog.Snapshot
	earlyVisits    []message.StatelessRequest // came before the catalog they need
	awaitedServers int                        // servers that requests on stdin and stdout wait for
	startWaitOver  bool                       // StartWait is over
	draining       bool
	drained        bool           // the gateway was told that nobody waits any more
	toldLevel      protocol.Level // the most verbose log level requests ask for, as the servers were told
	askedLevel     protocol.Level // likewise, of the requests since the last look

	calls   clientcalls.Calls[*heldCall, clientcalls.Requester, message.StatelessRequest] // by the requests that a notification may cancel
	clients map[string]*usage                                                             // what each client has in flight and parked, by client key

	cameBack cameBack       // states of limited tools
	edits    []rawjson.Edit // of the answer at hand

	outcomes      []outcome // oldest first
	outcomeBytes  int       // bytes of their answers
	outcomesTimed bool      // a tidy is on its way

	lastCapabilities string // read last, and what they said
	lastCan          message.CapabilitySet
	lastClient       string // client key made last
	lastInfo         string // clientInfo read last, and the name in it
	lastName         string
}

// heldCall is a call of a modern client. It outlives the HTTP request that began it while its server waits for answers.
type heldCall struct {
	clientcalls.Held
	exchanges []*downstream.Exchange // who waits for the outcome; none while it is parked
	who       *identity.Principal    // whose it is; nil = identity.Local
	caller    *message.Caller
	digest    [32]byte // of what it asks; made when the first state is sealed

	round       uint32                           // of the state that was given out last; 0 = none
	questions   map[string]message.ServerRequest // open questions by the key the client knows them by
	lastKey     int
	serverKeys  []string       // keys that servers gave
	timerGen    uint64         // of the window's and the grace's timers
	visitedURLs []byte         // the inner state it came with, if its client has been asked to open URLs; else nil
	missed      []notification // since the last stream ended, oldest first
}

func newState(o Options, self kernel.Reference) *state {
	s := &state{
		number: uint32(o.Number), node: o.Node, desks: o.Desks, limits: deskLimits(o.Limits, o.Desks), sealer: o.Sealer,
		registry: o.Registry, owner: o.Gateway, self: self,
		awaitedServers: o.Expect, clients: map[string]*usage{},
	}
	s.calls = clientcalls.New[*heldCall, clientcalls.Requester](s, self)
	return s
}

// deskLimits are a desk's part of the limits.
func deskLimits(limits config.Limits, desks int) config.Limits {
	limits.MaxInFlightPerClient = deskShare(limits.MaxInFlightPerClient, desks)
	limits.ParkedPerClient = deskShare(limits.ParkedPerClient, desks)
	return limits
}

// deskShare is a desk's part of a limit for one client: requests are dealt round-robin. 0 stays 0, no limit.
func deskShare(limit, desks int) int { return (limit + max(1, desks) - 1) / max(1, desks) }

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	out = s.handle(now, msg, out)
	if s.draining && !s.drained && !s.waitedFor() {
		s.drained = true
		return append(out, kernel.Tell(s.owner, message.Drained{Desk: s.self}))
	}
	return out
}

func (s *state) handle(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if out, handled := s.calls.Step(now, msg, out); handled {
		return out
	}
	switch m := msg.(type) {
	case message.StatelessRequest:
		return s.visit(now, m, out)
	case message.CancelStateless:
		return s.withdrawn(now, clientcalls.RequesterOf(m), out)
	case reply.Departed:
		return s.departed(now, m, out)
	case graceOver:
		if v := s.calls.Held(m.seq); v != nil && v.timerGen == m.gen && len(v.exchanges) == 0 && v.State != call.Parked {
			return s.calls.Apply(now, m.seq, call.Withdrawn{Reason: "the client left"}, out)
		}
	case windowOver:
		if v := s.calls.Held(m.seq); v != nil && v.timerGen == m.gen {
			return s.park(now, v, out)
		}
	case levelDue:
		return s.levelDue(out)
	case tidy:
		return s.tidy(now, out)
	case message.Principals:
		return s.principalsChanged(now, m, out)
	case message.Published:
		s.snapshot = m.Snapshot
		return s.serveEarly(now, out)
	case admission.StartWaitOver:
		s.startWaitOver, s.awaitedServers = true, 0
		return s.serveEarly(now, out)
	case message.DrainSession:
		s.draining = true
		return s.serveEarly(now, out)
	case message.NewLimits:
		s.limits = deskLimits(m.Limits, s.desks)
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Started:
		// Whoever waited for this desk before a restart waits no more, and nobody else would say so to a gateway that drains.
		return append(out, kernel.Tell(s.owner, message.Drained{Desk: s.self}), kernel.Tell(s.registry, message.Subscribe{Who: s.self}), kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
	case kernel.Stopping:
		return s.stop(now, out)
	}
	return out
}

// waitedFor reports whether somebody waits for the answer to a call, or it for the audit log. A parked call waits for its client, who may never come.
func (s *state) waitedFor() bool {
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
	out = s.serveEarly(now, out)
	for _, m := range s.calls.Waiting() {
		out = append(out, kernel.Act(reply.Refuse{X: m.Exchange, Fault: fault}))
	}
	out = s.calls.EndAll(now, func(*heldCall) bool { return true }, fault.Message, fault, out)
	return append(out, kernel.Tell(s.registry, message.Unsubscribe{Who: s.self}))
}

const (
	maxClientInfo = 4096 // bytes of clientInfo that are read
	unnamed       = "client without name"
)

// clientName returns the name and version in a request's clientInfo. It remembers the last one: most clients send many requests.
func (s *state) clientName(info []byte) string {
	if len(info) > maxClientInfo {
		return unnamed
	}
	if s.lastName == "" || string(info) != s.lastInfo {
		s.lastName = cmp.Or(admission.ClientName(info), unnamed)
		s.lastInfo = string(info)
	}
	return s.lastName
}

// report is what the desk tells people: its calls, parked ones with their deadline.
func (s *state) report() message.SessionReport {
	return message.SessionReport{Calls: s.calls.Report("desk", func(v *heldCall) string { return message.NameOf(v.who) })}
}
