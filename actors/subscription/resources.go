package subscription

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// mustWait reports whether the stream must wait for servers that have not listed their resources yet.
func (s *state) mustWait(uris []string) bool {
	return len(uris) > 0 && admission.CountSettled(s.view) < s.awaitedServers
}

// begin parses the client's filter and subscribes. MCP 2026-07-28, basic/patterns/subscriptions.
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

// subscribeTo subscribes to a resource or task. The parameter public is the client's URI or id for it.
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

// subscription returns a subscription on the connections that the client's calls use. The parameter public is the client's
// URI or id of the resource or task.
func (s *state) subscription(server *catalog.Server, public string) *clientsubs.Subscription {
	return &clientsubs.Subscription{Public: public, Own: s.subs.owners.Intern(server.Name, clientsubs.OwnerOf(&server.Rules, s.x, &s.listener.caller, protocol.EraModern))}
}

// subscribed handles a server's answer. A refused resource is not acknowledged. If it already was, it stays promised.
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
