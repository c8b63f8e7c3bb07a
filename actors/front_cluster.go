package actors

import (
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Relayed returns the handler for requests that other nodes of the cluster pass on to this one. It never passes them on
// again: a request that is not for this node is answered with 421, and the first node decides again.
func (g *Gateway) Relayed() downstream.Handler { return front{Gateway: g, relayed: true} }

// home returns the node that must handle a message of a session, or "" if that is this node.
func (f front) home(id string) string {
	if f.cluster == nil {
		return ""
	}
	incarnation, ok := cluster.HomeOf(id)
	if !ok || f.cluster.Members.Mine(incarnation) {
		return ""
	}
	return incarnation
}

// postElsewhere handles a message of a session of the cluster, if its home is another node or if it answers a question of
// another node. It reports whether it has handled the message.
func (f front) postElsewhere(x *downstream.Exchange, admitted message.Admitted) bool {
	if f.cluster == nil {
		return false
	}
	home := f.home(x.Origin.SessionID)
	if asked, is := askedBy(x); is {
		home = asked
		if f.cluster.Members.Mine(asked) { // this node has asked, as the session's home or as a guest
			return false
		}
	}
	switch {
	case home == "":
		return false
	case f.relayed:
		message.RefuseFault(x, 421, misdirected)
		return true
	case servedByGuests(x):
		f.postAsGuest(home, x, admitted)
		return true
	}
	if _, ok := f.owned(&x.Origin, &admitted, x.Frame.MethodText()); !ok {
		message.RefuseNoSession(x)
		return true
	}
	f.cluster.Relay.Post(home, x)
	return true
}

// owned returns the facts of the session that a request names. It returns false if the id is not one that the cluster has
// sealed, or if the session belongs to another principal, which it records. The caller then answers as if the session did
// not exist. So a forged or stolen id gets the same answer on every node, and costs the other nodes nothing.
func (f front) owned(o *downstream.Origin, admitted *message.Admitted, what string) (facts cluster.SessionFacts, ok bool) {
	_, facts, err := f.cluster.Secrets.OpenSession(o.SessionID)
	if err != nil {
		return facts, false
	}
	if facts.Holder != admitted.Principal() {
		f.recordStranger(o, what)
		return facts, false
	}
	return facts, true
}

var misdirected = &protocol.Fault{Name: protocol.InvalidRequest, Message: "this node of the cluster is not the one that the request is for", Retryable: true}

// askedBy returns the incarnation of the node that has asked the question which a message answers. It returns false if the
// message is not an answer to a question of a cluster.
func askedBy(x *downstream.Exchange) (incarnation string, ok bool) {
	if x.Batch != nil || x.Frame.Kind != protocol.KindResult && x.Frame.Kind != protocol.KindError {
		return "", false
	}
	id, _ := rawjson.Unquote(x.Frame.IDBytes())
	incarnation, _, ok = strings.Cut(id, ".")
	return incarnation, ok && cluster.ValidIncarnation(incarnation)
}

// servedByGuests reports whether every node can serve a request, whichever node is the session's home.
func servedByGuests(x *downstream.Exchange) bool {
	if x.Batch != nil || x.Frame.Kind != protocol.KindRequest || downstream.RouteMessages.Ends(x.Origin.Path) {
		return false
	}
	switch x.Frame.Method.Owner() {
	case protocol.OwnerCatalog:
		return true
	case protocol.OwnerServer: // only the session's home knows its tasks
		return x.Frame.Method != protocol.MethodToolsCall || !rawjson.Member(x.Frame.Raw, x.Frame.Params, "task").Present()
	}
	return x.Frame.Method == protocol.MethodPing
}

// postAsGuest serves a request of a session whose home is another node. If no guest has served the session before, the
// gateway actor starts one.
func (f front) postAsGuest(home string, x *downstream.Exchange, admitted message.Admitted) {
	if ref, ok := f.session(x.Origin.SessionID); ok {
		ref.TellInline(f.cluster.guestInbound(x, admitted))
		return
	}
	facts, ok := f.owned(&x.Origin, &admitted, x.Frame.MethodText())
	switch {
	case !ok:
		message.RefuseNoSession(x)
	case facts.Partial:
		f.cluster.Relay.Post(home, x)
	default:
		admitted.View = message.Narrowed(catalog.Key{Project: facts.Project, Server: facts.Server}, admitted.Who)
		f.self.Tell(message.OpenSession{Exchange: x, Guest: &facts, Admitted: admitted})
	}
}

// openElsewhere handles a stream of a session of the cluster, if the session's home or the call whose stream it resumes is at
// another node. It reports whether it has handled the stream.
func (f front) openElsewhere(stream *downstream.EventStream, admitted message.Admitted) bool {
	node := f.home(stream.Origin.SessionID)
	if f.cluster == nil {
		return false
	}
	if of, ok := cluster.NodeOfEvent(stream.Origin.LastEvent); ok {
		node = of
		if f.cluster.Members.Mine(of) {
			return false
		}
	}
	switch {
	case node == "":
		return false
	case f.relayed:
		message.RefuseStream(stream, 421, misdirected)
		return true
	}
	if _, ok := f.owned(&stream.Origin, &admitted, "stream"); !ok {
		stream.Refuse(404, nil, 0)
		return true
	}
	f.cluster.Relay.Open(node, stream)
	return true
}

// deleteElsewhere handles the end of a session of the cluster, if its home is another node. It reports whether it has handled
// the request.
func (f front) deleteElsewhere(x *downstream.Exchange, admitted message.Admitted) bool {
	home := f.home(x.Origin.SessionID)
	switch {
	case home == "":
		return false
	case f.relayed:
		message.RefuseFault(x, 421, misdirected)
		return true
	}
	if _, ok := f.owned(&x.Origin, &admitted, "end"); !ok {
		message.RefuseNoSession(x)
		return true
	}
	f.cluster.Relay.Delete(home, x)
	return true
}

// session returns the actor of the session with that ID. A session of a cluster is not found after the secret that sealed its ID
// was removed.
func (f front) session(id string) (kernel.Reference, bool) {
	if !session.ValidID(id) && (f.cluster == nil || !f.cluster.Secrets.Names(id)) {
		return kernel.Reference{}, false
	}
	return f.system.Lookup("gateway/" + session.ActorName(id))
}
