package session

import (
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// openWait is how long a client that opened a stream of HTTP+SSE has to send initialize.
const openWait = time.Minute

// state is all a session knows. Written by step only.
type state struct {
	id        string
	node      string // of this gateway
	transport string
	who       *identity.Principal // whose it is; nil = identity.Local. A newer value of the same id takes its place
	epoch     uint64              // of who, Admitted.Epoch
	revoked   bool                // it is nobody any more
	alarm     time.Time           // when a streamsOver comes; zero = none does
	key       catalog.Key
	limits    config.Limits
	registry  kernel.Reference
	owner     kernel.Reference
	self      kernel.Reference

	path         string // the endpoint it was opened on; other paths do not know it
	initialized  bool   // initialize was answered
	ready        bool   // notifications/initialized came, or a request after initialize: changes may be told
	draining     bool
	viewGone     bool                  // the newest Snapshot has no view for key; that of a project may come back
	version      string                // negotiated
	capabilities []byte                // raw JSON, as declared
	can          message.CapabilitySet // what they say about questions
	extras       message.Extras
	clientInfo   []byte          // raw JSON
	asks         *message.Caller // who asks, for its requests; nil = to be made anew, as something of it has changed
	client       string          // name and version, for people
	level        protocol.Level  // log lines below it are not passed on; LevelNone = all are
	since        time.Time
	lastSeen     time.Time

	snapshot        *catalog.Snapshot          // nil until the first came
	view            *catalog.View              // what of it key shows; nil likewise
	toldGenerations [protocol.ItemKinds]uint64 // generations the client was told of
	earlyInitialize *downstream.Exchange       // it came too early to be answered
	ended           *downstream.Exchange       // its client has ended the session, and waits to hear that it is so; nil = it has not

	awaitedServers int // servers that initialize waits for

	streams []*downstream.EventStream                                  // oldest first; never changed in place
	calls   clientcalls.Calls[*heldCall, string, *downstream.Exchange] // by the client's raw ids

	lastQuestion uint64
	questions    map[uint64]question         // put to the client and not answered, by our id
	tenantOf     map[string]kernel.Reference // pools that have connections of this client alone, by server
	rootsOf      map[string]kernel.Reference // pools of servers that asked for the roots
	subs         map[clientsubs.Resource]*clientsubs.Subscription
	owns         clientsubs.Owns                 // on whose connections
	updatesKept  int                             // updates that wait for a stream
	subscribing  map[uint64]subscribing          // by seq
	hopes        map[uint64]*hope                // subscribes that wait for the gateway's word, by seq
	levels       map[uint64]*downstream.Exchange // logging/setLevel, likewise
	room         int                             // subscriptions that the gateway has granted and that are not used
	subscribedAt map[string]clientsubs.PoolLife  // by server: who knows of the subscriptions there
	tasks        map[string]*task                // by public id
	lastTask     uint64
}

// heldCall is a call with what its holder needs to answer it.
type heldCall struct {
	clientcalls.Held
	x       *downstream.Exchange
	asTask  bool         // a tools/call that is to be done as a task
	listing *taskListing // it asks about a task on behalf of this; nil = the client's own call
	row     int          // of the listing
}

func newState(o Options, self kernel.Reference) *state {
	s := &state{
		id: o.ID, node: o.Node, transport: o.Transport, who: o.Opened.Who, epoch: o.Opened.Epoch, key: o.Opened.View, limits: o.Limits, registry: o.Registry, self: self,
		awaitedServers: o.Expect, owner: o.Gateway,
	}
	s.calls = clientcalls.New[*heldCall, string](s, self)
	return s
}

// put sets a value in a map of which most sessions never have one: many sessions are open and do nothing.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if out, handled := s.calls.Step(now, msg, out); handled {
		return out
	}
	switch m := msg.(type) {
	case message.Inbound:
		if !s.isTheirs(m.Who) {
			x := m.Exchange
			return s.calls.AuditStranger(m.Who, &x.Origin, x.Frame.MethodText(), append(out, kernel.Act(notFound{x})))
		}
		s.lastSeen = now
		return s.inbound(now, m, s.renew(now, m.Who, m.Epoch, out))
	case message.TaskMade:
		return s.taskMade(m, out)
	case message.TaskNotification:
		return s.taskNote(m, out)
	case message.ElicitationDone:
		return append(out, kernel.Act(push{streams: s.streams, method: m.Frame.M, message: m.Frame.Message(), key: string(m.Frame.Raw)}))
	case message.ResourceUpdated:
		return s.updated(m, out)
	case message.ResourcesUpdated:
		return s.allUpdated(m.Server, out)
	case message.SubscribeURIResult:
		return s.subscribed(m, out)
	case message.SetSessionLevelResult:
		return s.levelWanted(m, out)
	case message.ReserveSubscriptionsResult:
		return s.maySubscribe(m, out)
	case message.ServerLog:
		return s.serverLog(m, out)
	case message.Published:
		return s.published(now, m, out)
	case message.StreamOpened:
		if !s.isTheirs(m.Who) {
			return s.calls.AuditStranger(m.Who, &m.Stream.Origin, "stream", append(out, kernel.Act(openStream{stream: m.Stream, refusal: 404})))
		}
		s.lastSeen = now
		return s.streamOpened(now, m, s.renew(now, m.Who, m.Epoch, out))
	case streamReady:
		return s.streamReady(now, m.stream, out)
	case streamsOver:
		return s.streamsOver(now, m, out)
	case message.StreamClosed:
		s.lastSeen = now
		return s.streamClosed(m, out)
	case undelivered:
		return s.undelivered(m, out)
	case message.EndSession:
		if !s.isTheirs(m.Who) {
			x := m.Exchange
			return s.calls.AuditStranger(m.Who, &x.Origin, "end", append(out, kernel.Act(notFound{x})))
		}
		if refusal := admission.Belongs(m.Admitted, s.key, nil); refusal != nil {
			return append(out, kernel.Act(turnAway{m.Exchange, refusal}))
		}
		s.ended = m.Exchange
		return append(out, kernel.StopSelf())
	case message.Principals:
		return s.principals(now, m, out)
	case message.CloseIfIdle:
		if s.calls.Len() == 0 && (len(s.streams) == 0 || m.Streams) {
			return append(out, kernel.StopSelf())
		}
		return append(out, kernel.Tell(s.owner, message.SessionBusy{Session: s.self}))
	case message.QueryIdleSince:
		return append(out, kernel.Tell(m.To, message.IdleSince{Session: s.self, At: s.lastSeen, Calls: s.calls.Len() > 0, Streams: len(s.streams) > 0}))
	case message.DrainSession:
		s.draining = true
		return s.leaveWhenDrained(out)
	case idleCheck:
		return s.idle(now, out)
	case openOver:
		if !s.initialized {
			return append(out, kernel.StopSelf())
		}
	case admission.StartWaitOver:
		s.awaitedServers = 0
		return s.serveWaiting(now, out)
	case message.NewLimits: // a shorter sessionIdle counts from the next look on
		s.limits = m.Limits
	case message.Inspect:
		m.Reply(s.report())
	case kernel.Started:
		s.since, s.lastSeen = now, now
		out = append(out, kernel.Tell(s.registry, message.Subscribe{Who: s.self}))
		if s.transport != "stdio" {
			out = append(out, kernel.WakeAfter(s.limits.SessionIdle, idleCheck{}))
		}
		if s.awaitedServers > 0 {
			out = append(out, kernel.WakeAfter(admission.StartWait, admission.StartWaitOver{}))
		}
		if s.transport == "sse" {
			out = append(out, kernel.WakeAfter(openWait, openOver{}))
		}
	case kernel.Stopping:
		return s.stop(now, out)
	}
	return out
}

// serveWaiting answers the initialize that waits, once there is a catalog and the servers it waits for have settled.
func (s *state) serveWaiting(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.view == nil {
		return out
	}
	if admission.SettledIn(s.view) < s.awaitedServers {
		return out
	}
	s.awaitedServers = 0
	x := s.earlyInitialize
	if x == nil {
		return out
	}
	s.earlyInitialize = nil
	return s.initialize(now, x, out)
}

// idle ends a session nobody uses: no call, no open stream, nothing heard for limits.sessionIdle.
func (s *state) idle(now time.Time, out []kernel.Effect) []kernel.Effect {
	rest := s.lastSeen.Add(s.limits.SessionIdle).Sub(now)
	if rest <= 0 && len(s.streams) == 0 && s.calls.Len() == 0 {
		return append(out, kernel.StopSelf())
	}
	if rest <= 0 {
		rest = s.limits.SessionIdle
	}
	return append(out, kernel.WakeAfter(rest, idleCheck{}))
}

func (s *state) leaveWhenDrained(out []kernel.Effect) []kernel.Effect {
	if s.draining && !s.calls.Busy() {
		return append(out, kernel.StopSelf())
	}
	return out
}

// stop answers every call, tells the servers, and ends the streams.
func (s *state) stop(now time.Time, out []kernel.Effect) []kernel.Effect {
	fault := &protocol.Fault{Name: protocol.ShuttingDown, Message: "the session ended before the call was answered", Retryable: true}
	if s.revoked {
		fault = message.Revoked
	}
	out = s.calls.EndAll(now, func(*heldCall) bool { return true }, "the session ended", fault, out)
	if s.earlyInitialize != nil {
		out = append(out, kernel.Act(refuse{s.earlyInitialize, 503, fault}))
	}
	for _, x := range s.calls.Waiting() {
		out = s.fault(x, fault, out)
	}
	for _, seq := range kernel.SortedKeys(s.hopes) {
		out = s.fault(s.hopes[seq].x, fault, out)
	}
	for _, seq := range kernel.SortedKeys(s.subscribing) {
		out = s.fault(s.subscribing[seq].x, fault, out)
	}
	for _, seq := range kernel.SortedKeys(s.levels) {
		out = s.fault(s.levels[seq], fault, out)
	}
	out = s.leaveTenancies(clientsubs.UnsubscribeAll(s.subscribedAt, s.self, out))
	for _, stream := range s.streams {
		out = append(out, kernel.Act(closeStream{stream}))
	}
	out = append(out, kernel.Act(endReplay{}), kernel.Tell(s.registry, message.Unsubscribe{Who: s.self}))
	if s.ended == nil {
		return out
	}
	return append(s.giveAllBack(out), kernel.Act(refuse{s.ended, 204, nil})) // all have been told what is free again
}

// report is what the session tells people. The id is a secret; eight characters name it.
func (s *state) report() message.SessionReport {
	r := message.SessionReport{Session: status.Session{
		ID: shortID(s.id), Client: s.client, Who: message.NameOf(s.who), Project: s.key.Project, Protocol: s.version, Transport: s.transport,
		Since: s.since, LastSeen: s.lastSeen, InFlight: s.calls.Len(), Streams: len(s.streams),
	}}
	r.Calls = s.calls.Report(r.Session.ID, func(*heldCall) string { return r.Session.Who })
	r.Subscriptions = clientsubs.ReportSubscriptions(shortID(s.id), r.Session.Who, s.subs)
	return r
}
