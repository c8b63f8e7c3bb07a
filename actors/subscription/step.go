package subscription

import (
	"encoding/json"
	"slices"
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
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// ackWait is how long the acknowledgment waits for servers to confirm subscriptions. Unconfirmed ones are acknowledged too, if
// the catalog or the server's pool knows the resource.
const ackWait = time.Second

// state is the subscription stream's entire state. Only step modifies it.
type state struct {
	x        *downstream.Exchange
	sealer   *seal.Sealer
	self     kernel.Reference
	registry kernel.Reference
	since    time.Time

	listener  listener
	view      *catalog.View
	wants     [protocol.ItemKinds]bool // kinds of lists whose changes the client wants to hear of
	announced clientsubs.Announced
	subs      subscriptions

	awaitedServers int             // servers that URIs wait for; 0 = none any more
	begun          bool            // what the client wants has been read
	acked          bool            // the acknowledgment was sent
	beforeAck      []kernel.Effect // came before the acknowledgment, which must be first
	over           bool            // nothing more is sent: the client has left or cancelled, or has its answer
}

// listener is the client of the stream.
type listener struct {
	who    *identity.Principal // nil = identity.Local
	epoch  uint64              // of who, Admitted.Epoch
	key    catalog.Key         // what it sees of the catalog
	name   string              // for people
	caller message.Caller
}

// subscriptions are the resources and tasks that the stream reports changes of.
type subscriptions struct {
	active      map[clientsubs.Resource]*clientsubs.Subscription
	pools       map[string]clientsubs.PoolLife // pools that know of them, by server
	owners      clientsubs.Owners              // on whose connections
	last        uint64                         // number given last
	pending     map[uint64]clientsubs.Resource // subscribes that wait for the server, by number
	unconfirmed map[clientsubs.Resource]bool   // pending ones that no catalog has, until the pool says that its server has mentioned them
	promised    map[string]clientsubs.Resource // acknowledged and then refused, by the client's URI: where it is asked for now
}

// Keys of _meta. MCP 2026-07-28, basic.
const (
	metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
	metaServerInfo     = "io.modelcontextprotocol/serverInfo"
)

// ackDue says that ackWait has passed.
type ackDue struct{}

func newState(o Options, self kernel.Reference) *state {
	frame := &o.Exchange.Frame
	params := &o.Exchange.Params
	return &state{
		x: o.Exchange, sealer: o.Sealer, self: self, registry: o.Registry, awaitedServers: o.Expect,
		listener: listener{
			who: o.Admitted.Who, epoch: o.Admitted.Epoch, key: o.Admitted.View, name: admission.ClientName(params.MetaClientInfo.Of(frame.Raw)),
			caller: message.Caller{
				Principal: o.Admitted.Principal(), Epoch: o.Admitted.Epoch, ClientKey: message.ClientKey(o.Exchange, o.Admitted.Who),
				Can: message.CanOf(params.MetaCapabilities.Of(frame.Raw)),
			},
		},
		subs: subscriptions{
			active: map[clientsubs.Resource]*clientsubs.Subscription{}, pools: map[string]clientsubs.PoolLife{},
			pending: map[uint64]clientsubs.Resource{}, unconfirmed: map[clientsubs.Resource]bool{},
		},
	}
}

// step applies msg to s at the time now and appends to out what is to be done about it.
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
	case message.CancelStateless: // nothing more may be sent for it (MCP 2026-07-28, basic/transports/stdio, cancellation)
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
		return append(out, kernel.Tell(m.To, message.IdleSince{Session: s.self, At: s.since, Streams: true}))
	case message.Inspect:
		m.Reply(message.SessionReport{Session: status.Session{
			ID: "listen", Client: s.listener.name, Who: message.NameOf(s.listener.who), Project: s.listener.key.Project, Protocol: protocol.Version20260728, Transport: "http", Since: s.since, LastSeen: s.since, Streams: 1,
		}, Subscriptions: clientsubs.ReportSubscriptions("listen", message.NameOf(s.listener.who), s.subs.active)})
	case kernel.Stopping:
		return s.stop(out)
	}
	return out
}

// published takes the first catalog, or compares a newer one with what was announced.
func (s *state) published(m message.Published, out []kernel.Effect) []kernel.Effect {
	return s.updateView(m.Snapshot, m.Early, out)
}

// updateView looks up what the client sees of a snapshot, and notifies it of changes. early: not yet.
func (s *state) updateView(snapshot *catalog.Snapshot, early bool, out []kernel.Effect) []kernel.Effect {
	view, ok := snapshot.View(s.listener.key)
	lacks := s.listener.key.Project != "" && !(snapshot.HasProject(s.listener.key) && s.listener.who.May(s.listener.key.Project))
	switch {
	case lacks && s.begun:
		view = snapshot.Nothing() // the project may return with another configuration, or other rights
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

// mustWait reports whether servers have not listed their resources yet, which cannot be subscribed to before.
func (s *state) mustWait(uris []string) bool {
	return len(uris) > 0 && admission.CountSettled(s.view) < s.awaitedServers
}

// begin parses the client's filter and subscribes. MCP 2026-07-28, basic/utilities/subscriptions.
func (s *state) begin(out []kernel.Effect) []kernel.Effect {
	filter, ok := clientsubs.FilterOf(s.x)
	if !ok {
		return s.refuse(protocol.BadParams("params.notifications: want an object of booleans and lists of at most 10000 URIs"), out)
	}
	if len(filter.TaskIDs) > 0 && !admission.Declares(s.x.Params.MetaCapabilities.Of(s.x.Frame.Raw), message.ExtensionTasks) {
		return s.refuse(admission.UndeclaredTasksFault(), out)
	}
	if s.mustWait(filter.ResourceSubscriptions) {
		return out
	}
	s.begun, s.announced = true, s.view.Generation
	s.wants[protocol.Tools] = filter.ToolsListChanged
	s.wants[protocol.Prompts] = filter.PromptsListChanged
	s.wants[protocol.Resources] = filter.ResourcesListChanged
	for _, uri := range filter.ResourceSubscriptions {
		found, fault := s.view.Resource(uri)
		if fault != nil {
			continue // left out of the acknowledgment
		}
		out = s.subscribeTo(found, uri, out)
	}
	for _, id := range filter.TaskIDs {
		if server, own := admission.ModernTask(s.view, id, s.tasks()); server != nil {
			out = s.subscribeTo(catalog.Found{Server: server, Original: message.TaskURI(own)}, id, out)
		}
	}
	if len(s.subs.pending) == 0 {
		return s.ack(out)
	}
	return append(out, kernel.WakeAfter(ackWait, ackDue{}))
}

// subscribeTo subscribes to what the client calls public.
func (s *state) subscribeTo(found catalog.Found, public string, out []kernel.Effect) []kernel.Effect {
	server, r := found.Server, clientsubs.Resource{Server: found.Server.Name, URI: found.Original}
	if s.subs.active[r] != nil {
		return out
	}
	sub := s.subscription(server, public)
	s.subs.active[r] = sub
	s.subs.pools[r.Server] = clientsubs.LifeOf(server)
	s.subs.last++
	s.subs.pending[s.subs.last] = r
	if found.Unlisted {
		s.subs.unconfirmed[r] = true
	}
	return append(out, kernel.Tell(server.Pool, message.SubscribeURI{From: s.self, Seq: s.subs.last, URI: r.URI, Own: sub.Own, Unlisted: found.Unlisted, Hint: found.Unlisted}))
}

// subscription returns a subscription to what the client calls public, on the connections that the client's calls use.
func (s *state) subscription(server *catalog.Server, public string) *clientsubs.Subscription {
	return &clientsubs.Subscription{Public: public, Own: s.subs.owners.Intern(server.Name, clientsubs.OwnerOf(&server.Rules, s.x, &s.listener.caller, protocol.EraModern))}
}

// end ends the stream because it is no longer known on whose connections it should subscribe. The client opens another one,
// with the headers that count now.
func (s *state) end(server string, out []kernel.Effect) []kernel.Effect {
	if s.acked {
		return append(out, kernel.StopSelf())
	}
	return s.refuse(&protocol.Fault{Name: protocol.ServerUnavailable, Server: server, Retryable: true,
		Message: "the settings for sharing connections of server " + server + " have just changed; open the stream again"}, out)
}

// refuse ends the stream before it has begun.
func (s *state) refuse(fault *protocol.Fault, out []kernel.Effect) []kernel.Effect {
	s.begun, s.over = true, true
	return append(out, kernel.Act(reply.Refuse{X: s.x, Fault: fault}), kernel.StopSelf())
}

// subscribed takes a server's answer. A refused resource is not acknowledged or, if it was already, stays promised.
func (s *state) subscribed(m message.SubscribeURIResult, out []kernel.Effect) []kernel.Effect {
	r, ok := s.subs.pending[m.Seq]
	if !ok {
		return out
	}
	delete(s.subs.pending, m.Seq)
	delete(s.subs.unconfirmed, r)
	switch failed := m.Fault != nil || m.Error != nil; {
	case failed && s.acked:
		out = s.promise(r, out)
	case failed:
		delete(s.subs.active, r)
	}
	if len(s.subs.pending) == 0 {
		return s.ack(out)
	}
	return out
}

// ack sends the acknowledgment, the first message of the stream: which part of the filter will be served. A stream without any
// ends at once.
func (s *state) ack(out []kernel.Effect) []kernel.Effect {
	if s.acked {
		return out
	}
	s.acked = true
	agreed := map[string]any{}
	for kind, name := range map[protocol.ItemKind]string{
		protocol.Tools: "toolsListChanged", protocol.Prompts: "promptsListChanged", protocol.Resources: "resourcesListChanged",
	} {
		if s.wants[kind] {
			agreed[name] = true
		}
	}
	wished := map[string][]string{}
	for r, sub := range s.subs.active {
		name := "resourceSubscriptions"
		if _, task := message.TaskOf(r.URI); task {
			name = "taskIds"
		}
		wished[name] = append(wished[name], sub.Public)
	}
	for name, list := range wished {
		slices.Sort(list)
		agreed[name] = list
	}
	list, err := json.Marshal(agreed)
	if err != nil {
		panic("acknowledgment: " + err.Error()) // strings and booleans always marshal
	}
	params := append(append([]byte(`{`), s.tag()...), `,"notifications":`...)
	params = append(append(params, list...), '}')
	out = append(out, s.notify(protocol.NotificationSubscriptionsAcknowledged.String(), params, "ack"))
	if len(agreed) == 0 {
		return append(out, kernel.StopSelf())
	}
	early := s.beforeAck
	s.beforeAck = nil
	return append(out, early...)
}

// tag returns the member that names the stream in every message on it: the id of the request, of any type.
func (s *state) tag() []byte {
	return append(append([]byte(`"_meta":{"`+metaSubscriptionID+`":`), s.x.Frame.IDBytes()...), '}')
}

func (s *state) notify(method string, params []byte, key string) kernel.Effect {
	weight := downstream.WeightState
	if key == "ack" {
		weight = downstream.WeightAnswer
	}
	return kernel.Act(reply.Notify{X: s.x, Message: protocol.Message{Frame: protocol.AppendNotification(nil, method, params)}, Weight: weight, Key: key})
}

// notifyChanges notifies once of every kind of list that has changed since the last notification.
func (s *state) tellChanges(out []kernel.Effect) []kernel.Effect {
	for _, kind := range s.announced.Due(s.view) {
		if !s.wants[kind] {
			continue
		}
		method := kind.ChangedMethod().String()
		out = s.send(s.notify(method, append(append([]byte{'{'}, s.tag()...), '}'), method), out)
	}
	return out
}

// send sends a message, or keeps it until the acknowledgment was sent.
func (s *state) send(e kernel.Effect, out []kernel.Effect) []kernel.Effect {
	if !s.acked {
		s.beforeAck = append(s.beforeAck, e)
		return out
	}
	return append(out, e)
}

// updated passes on a change of a resource or task, with the client's URI and the stream's tag.
func (s *state) updated(m message.ResourceUpdated, out []kernel.Effect) []kernel.Effect {
	_, public, ok := clientsubs.SubscriptionFor(s.view, s.subs.active, &m)
	if !ok {
		return out
	}
	var params protocol.Params
	if params.Scan(&m.Frame) != nil {
		return out
	}
	raw := m.Frame.Raw
	edits := []rawjson.Edit{{Span: m.Span, With: rawjson.Quote(public)}}
	id := s.x.Frame.IDBytes()
	switch {
	case params.SubscriptionID.Present():
		edits = append(edits, rawjson.Edit{Span: params.SubscriptionID, With: id})
	case params.Meta.Present():
		member := append([]byte(`"`+metaSubscriptionID+`":`), id...)
		edits = append(edits, rawjson.InsertMember(raw, params.Meta, member))
	default:
		edits = append(edits, rawjson.InsertMember(raw, m.Frame.Params, s.tag()))
	}
	frame := rawjson.AppendEdited(nil, raw, edits...)
	return s.send(kernel.Act(reply.Notify{X: s.x, Message: protocol.Message{Frame: frame, Newline: m.Frame.Newline}, Weight: downstream.WeightState, Key: public}), out)
}

// stop ends the stream gracefully with a result. A stream that never began gets an error, as its first message would have to be
// the acknowledgment.
func (s *state) stop(out []kernel.Effect) []kernel.Effect {
	out = clientsubs.UnsubscribeAll(s.subs.pools, s.self, out)
	out = append(out, kernel.Tell(s.registry, message.Unsubscribe{From: s.self}))
	switch {
	case s.over:
		return out
	case !s.acked:
		return append(out, kernel.Act(reply.Refuse{X: s.x, Fault: &protocol.Fault{Name: protocol.ShuttingDown, Message: "the gateway accepts no new streams while it shuts down", Retryable: true}}))
	}
	result := append([]byte(`{"resultType":"complete","_meta":{"`+metaSubscriptionID+`":`), s.x.Frame.IDBytes()...)
	result = append(append(result, `,"`+metaServerInfo+`":`...), s.view.ServerInfo()...)
	return append(out, kernel.Act(reply.Answer{X: s.x, Message: protocol.Message{Frame: protocol.AppendResult(nil, s.x.Frame.IDBytes(), append(result, "}}"...))}}))
}
