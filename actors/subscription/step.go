package subscription

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// state is the subscription stream's entire state. Only step modifies it.
type state struct {
	id       string // for the status
	x        *downstream.Exchange
	sealer   *seal.Sealer
	self     kernel.Reference
	registry kernel.Reference
	since    time.Time

	listener  listener
	view      *catalog.View
	wants     [protocol.ItemKinds]bool // kinds of lists whose changes the client wants to be notified of
	announced clientsubs.Announced
	subs      subscriptions

	awaitedServers int             // servers that must settle before URIs are subscribed to; 0 = none
	begun          bool            // the filter has been read, or the stream refused
	acked          bool            // the acknowledgment has been sent
	beforeAck      []kernel.Effect // messages held back until the acknowledgment has been sent
	over           bool            // nothing more may be sent: the client has left or canceled, or the stream was refused
}

// listener is the client of the stream.
type listener struct {
	who    *identity.Principal // nil = identity.Local
	epoch  uint64              // of who, Admitted.Epoch
	key    catalog.Key         // selects the part of the catalog that the client sees
	name   string              // for the status
	caller message.Caller
}

// subscriptions are the resources and tasks that the stream reports changes of.
type subscriptions struct {
	active      map[clientsubs.Resource]*clientsubs.Subscription
	pools       map[string]clientsubs.PoolLife // pools that know of them, by server
	owners      clientsubs.Owners              // owners of the connections that they use
	last        uint64                         // number of the newest subscribe
	pending     map[uint64]clientsubs.Resource // subscribes that wait for the server, by number
	unconfirmed map[clientsubs.Resource]bool   // pending and in no catalog; removed when the pool says that its server has mentioned it
	promised    map[string]clientsubs.Resource // acknowledged and then refused, by the client's URI: the resource last subscribed to for it
}

func newState(o Options, self kernel.Reference) *state {
	frame := &o.Exchange.Frame
	params := &o.Exchange.Params
	return &state{
		id: o.sessionID(), x: o.Exchange, sealer: o.Sealer, self: self, registry: o.Registry, awaitedServers: o.Expect,
		listener: listener{
			who: o.Admitted.Who, epoch: o.Admitted.Epoch, key: o.Admitted.View, name: admission.ClientName(params.MetaClientInfo.Of(frame.Raw)),
			caller: message.Caller{
				Principal: o.Admitted.Principal(), Epoch: o.Admitted.Epoch, Hop: o.Admitted.Behalf != nil, ClientKey: message.ClientKey(o.Exchange, o.Admitted.Who),
				Can: message.CanOf(params.MetaCapabilities.Of(frame.Raw)),
			},
		},
		subs: subscriptions{
			active: map[clientsubs.Resource]*clientsubs.Subscription{}, pools: map[string]clientsubs.PoolLife{},
			pending: map[uint64]clientsubs.Resource{}, unconfirmed: map[clientsubs.Resource]bool{},
		},
	}
}

// step applies msg to s at the time now and appends the resulting effects to out.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started:
		s.since = now
		if s.awaitedServers > 0 {
			out = append(out, kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
		}
		return s.setExpiryTimer(now, append(out, kernel.Act(reply.Watch{X: s.x, Seq: 0}), kernel.Tell(s.registry, message.Subscribe{From: s.self})))
	case message.Principals:
		return s.principals(now, m, out)
	case expiryDue:
		return s.expiryDue(now, out)
	case message.Published:
		return s.published(m, out)
	case message.SubscribeURIResult:
		return s.subscribed(m, out)
	case message.ResourceKnown:
		delete(s.subs.unconfirmed, s.subs.pending[m.Seq])
	case ackDue:
		return s.ack(s.dropUnconfirmed(out))
	case admission.StartWaitOver:
		s.awaitedServers = 0
		if s.view != nil && !s.begun {
			return s.begin(out)
		}
	case message.ResourceUpdated:
		return s.updated(m, out)
	case message.ResourcesUpdated:
		for _, u := range clientsubs.UpdatesOfAll(m.Server, s.subs.active) {
			out = s.updated(u, out)
		}
	case reply.Departed:
		s.over = true
		return append(out, kernel.StopSelf())
	case message.CancelStateless: // nothing more may be sent for the request (MCP 2026-07-28, basic/transports/stdio, cancellation)
		if clientcalls.RequestOf(s.x, s.listener.who) == clientcalls.RequesterOf(m) {
			s.over = true
			return append(out, kernel.Act(reply.Accept{X: s.x}), kernel.StopSelf())
		}
	case message.DrainSession:
		return append(out, kernel.StopSelf())
	case message.CloseIfIdle:
		if m.Streams {
			return append(out, kernel.StopSelf())
		}
	case message.QueryIdleSince:
		return append(out, kernel.Tell(m.To, message.IdleSince{Survey: m.Survey, Session: s.self, At: s.since, Streams: true}))
	case message.Inspect:
		return append(out, kernel.Act(report{m}))
	case kernel.Stopping:
		return s.stop(out)
	}
	return out
}

// transport returns the transport of the client's request, as the status names it.
func (s *state) transport() string {
	if s.x.Origin.Stdio {
		return "stdio"
	}
	return "http"
}

// published adopts a new catalog. The first one begins the stream; later ones cause notifications of changes.
func (s *state) published(m message.Published, out []kernel.Effect) []kernel.Effect {
	return s.updateView(m.Snapshot, m.Early, out)
}

// updateView switches to the client's view of a snapshot, and notifies the client of changes. If the parameter early is
// true, the client is not notified yet.
func (s *state) updateView(snapshot *catalog.Snapshot, early bool, out []kernel.Effect) []kernel.Effect {
	view, ok := snapshot.View(s.listener.key)
	lacks := s.listener.key.Project != "" && !(snapshot.HasProject(s.listener.key) && s.listener.who.May(s.listener.key.Project))
	switch {
	case lacks && s.begun:
		view = snapshot.Nothing() // the project may return with another configuration or with other rights
	case lacks:
		return s.refuse(protocol.NoProject(s.listener.key.Project), out)
	case !ok && !s.begun:
		return s.refuse(admission.NoView(snapshot, s.listener.key), out)
	case !ok:
		return append(out, kernel.StopSelf())
	}
	if was := s.view; was != nil && was.Snapshot() == snapshot { // only the client's rights have changed
		s.announced.Carry(was, view)
	}
	s.view = view
	if misfits := clientsubs.Mismatched(s.subs.pools, snapshot, s.subs.active); len(misfits) > 0 {
		return s.end(misfits[0].Server, out)
	}
	if s.begun {
		out, _ = clientsubs.Resubscribe(s.subs.pools, snapshot, s.self, s.subs.active, s.subs.unconfirmed, out)
		if out = s.retryPromised(out); early {
			return out
		}
		return s.tellChanges(out)
	}
	return s.begin(out)
}

// report returns the stream's part of the status. It may change while bytes wait for the client.
func (s *state) report() message.SessionReport {
	unsent := s.x.Unsent()
	return message.SessionReport{Session: status.Session{
		ID: s.id, Client: s.listener.name, Who: message.NameOf(s.listener.who), Project: s.listener.key.Project, Protocol: protocol.Version20260728, Transport: s.transport(), Since: s.since, LastSeen: s.since, Streams: 1, Unsent: unsent,
	}, Subscriptions: clientsubs.ReportSubscriptions(s.id, message.NameOf(s.listener.who), s.subs.active), Changing: unsent > 0}
}
