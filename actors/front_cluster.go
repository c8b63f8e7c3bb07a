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

// elsewhere decides which node handles a request of a session of the cluster. It implements message.Elsewhere: a session gives it the
// requests that this node no longer handles.
type elsewhere struct {
	*Gateway
	attempts int // how often it was decided before
}

// next returns the Retry of a request of a session. A session that cannot move has none.
func (e elsewhere) next(id string, do func(elsewhere)) cluster.Retry {
	if !e.cluster.movable(id) {
		return cluster.Retry{}
	}
	return cluster.RetryOf(e.attempts, func() { do(elsewhere{e.Gateway, e.attempts + 1}) })
}

// home returns the node that must handle a message of a session, or "" if that is this node. Sessions that cannot move stay where they
// were opened.
func (e elsewhere) home(id string) string {
	view := e.cluster.Members.View()
	home := ""
	if m := view.Home(id); m != nil && (cluster.OpenedBy(id, m.Incarnation) || e.cluster.movable(id)) {
		home = m.Incarnation
	} else {
		home, _ = cluster.HomeOf(id)
	}
	if home == "" || view.Mine(home) {
		return ""
	}
	return home
}

// movable reports whether a session can move to another node: its id says all that the node needs.
func (c *Cluster) movable(id string) bool {
	_, facts, err := c.Secrets.OpenSession(id)
	return err == nil && facts.Movable()
}

// Post handles a message of a session of the cluster.
func (e elsewhere) Post(x *downstream.Exchange, admitted message.Admitted) {
	node := e.home(x.Origin.SessionID)
	asked, answers := askedBy(x)
	if answers {
		if node = asked; e.cluster.Members.Mine(asked) { // this node has asked, as the session's home or as a guest
			node = ""
		}
	}
	switch {
	case node == "" || session.ServedByGuests(x) && !x.Origin.Relayed && e.attempts == 0 && !e.leaving.Load():
		e.postHere(node, x, admitted)
		return
	case x.Origin.Relayed:
		message.RefuseFault(x, 421, misdirected)
		return
	case isCancellation(x) && e.bus != nil && e.attempts == 0:
		e.cancel(node, x, admitted)
		return
	}
	if _, ok := e.owned(&x.Origin, &admitted, x.Frame.MethodText()); !ok {
		message.RefuseNoSession(x)
		return
	}
	if answers { // only the node that has asked can use the answer
		e.cluster.Relay.Post(node, x, cluster.Retry{})
		return
	}
	e.relay(node, x, admitted)
}

// relay passes a message on to the session's home.
func (e elsewhere) relay(home string, x *downstream.Exchange, admitted message.Admitted) {
	e.cluster.Relay.Post(home, x, e.next(x.Origin.SessionID, func(e elsewhere) { e.Post(x, admitted) }))
}

// owned returns the facts of the session that a request names. It returns false if the id is not one that the cluster has
// sealed, or if the session belongs to another principal, which it records. The caller then answers as if the session did
// not exist. So a forged or stolen id gets the same answer on every node, and costs the other nodes nothing.
func (e elsewhere) owned(o *downstream.Origin, admitted *message.Admitted, what string) (facts cluster.SessionFacts, ok bool) {
	_, facts, err := e.cluster.Secrets.OpenSession(o.SessionID)
	if err != nil {
		return facts, false
	}
	if facts.Holder != admitted.Principal() {
		e.recordStranger(o, what)
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

// postHere gives a message to the session's actor on this node, or to a new one if the session was opened at another node. home is
// the session's home; "" = this node.
func (e elsewhere) postHere(home string, x *downstream.Exchange, admitted message.Admitted) {
	if ref, ok := e.session(x.Origin.SessionID); ok && e.attempts == 0 {
		ref.TellInline(message.ClusterInbound{Inbound: message.Inbound{Exchange: x, Admitted: admitted}, Elsewhere: e.again()})
		return
	}
	facts, ok := e.begins(&x.Origin, &admitted, x.Frame.MethodText())
	switch {
	case !ok:
		message.RefuseNoSession(x)
	case facts.Movable() && e.attempts < cluster.MaxAttempts:
		e.self.Tell(message.OpenSession{Exchange: x, Facts: &facts, Guest: home != "", Attempts: e.attempts, Admitted: narrowed(&facts, admitted)})
	case facts.Movable():
		message.RefuseFault(x, 503, message.SessionMoves)
	case home != "":
		e.relay(home, x, admitted)
	default:
		message.RefuseNoSession(x)
	}
}

// begins returns the facts of a session that may begin on this node. It returns false if owned does, or if this node has opened the
// session: then the session has ended, because it has no actor here.
func (e elsewhere) begins(o *downstream.Origin, admitted *message.Admitted, what string) (facts cluster.SessionFacts, ok bool) {
	if opened, _ := cluster.HomeOf(o.SessionID); opened == e.cluster.Members.Self() {
		return facts, false
	}
	return e.owned(o, admitted, what)
}

// narrowed returns the admission with the view that the session has.
func narrowed(facts *cluster.SessionFacts, admitted message.Admitted) message.Admitted {
	admitted.View = message.Narrowed(catalog.Key{Project: facts.Project, Server: facts.Server}, admitted.Who)
	return admitted
}

// again returns the elsewhere for the next decision, after the session's actor on this node has ended or is not the home.
func (e elsewhere) again() elsewhere { return elsewhere{e.Gateway, e.attempts + 1} }

// Open handles a stream of a session of the cluster.
func (e elsewhere) Open(stream *downstream.EventStream, admitted message.Admitted) {
	node := e.home(stream.Origin.SessionID)
	of, resumes := cluster.NodeOfEvent(stream.Origin.LastEvent)
	if resumes { // the stream of a call
		if node = of; e.cluster.Members.Mine(of) {
			node = ""
		}
	}
	switch {
	case node == "":
		e.openHere(stream, admitted)
		return
	case stream.Origin.Relayed:
		message.RefuseStream(stream, 421, misdirected)
		return
	}
	if _, ok := e.owned(&stream.Origin, &admitted, "stream"); !ok {
		stream.Refuse(404, nil, 0)
		return
	}
	var again cluster.Retry
	if !resumes {
		again = e.next(stream.Origin.SessionID, func(e elsewhere) { e.Open(stream, admitted) })
	}
	e.cluster.Relay.Open(node, stream, again)
}

// openHere gives a stream to the session's actor on this node, or to a new one if the session was opened at another node.
func (e elsewhere) openHere(stream *downstream.EventStream, admitted message.Admitted) {
	if ref, ok := e.session(stream.Origin.SessionID); ok && e.attempts == 0 {
		ref.Tell(message.ClusterStream{StreamOpened: message.StreamOpened{Stream: stream, Admitted: admitted}, Elsewhere: e.again()})
		return
	}
	facts, ok := e.begins(&stream.Origin, &admitted, "stream")
	if !ok || !facts.Movable() {
		stream.Refuse(404, nil, 0)
		return
	}
	if e.attempts >= cluster.MaxAttempts {
		message.RefuseStream(stream, 503, message.SessionMoves)
		return
	}
	e.self.Tell(message.OpenSession{Stream: stream, Facts: &facts, Attempts: e.attempts, Admitted: narrowed(&facts, admitted)})
}

// Delete ends a session of the cluster for its client.
func (e elsewhere) Delete(x *downstream.Exchange, admitted message.Admitted) {
	home := e.home(x.Origin.SessionID)
	switch {
	case home == "":
		e.deleteHere(x, admitted)
		return
	case x.Origin.Relayed:
		message.RefuseFault(x, 421, misdirected)
		return
	}
	if _, ok := e.owned(&x.Origin, &admitted, "end"); !ok {
		message.RefuseNoSession(x)
		return
	}
	e.cluster.Relay.Delete(home, x, e.next(x.Origin.SessionID, func(e elsewhere) { e.Delete(x, admitted) }))
}

// deleteHere ends the session's actor on this node. If the session was opened at a node that is gone and has no actor here, the nodes
// only remember that it has ended.
func (e elsewhere) deleteHere(x *downstream.Exchange, admitted message.Admitted) {
	if ref, ok := e.session(x.Origin.SessionID); ok && e.attempts == 0 {
		ref.Tell(message.ClusterEnd{EndSession: message.EndSession{Exchange: x, Admitted: admitted}, Elsewhere: e.again()})
		return
	}
	facts, ok := e.begins(&x.Origin, &admitted, "end")
	if !ok || !facts.Movable() {
		message.RefuseNoSession(x)
		return
	}
	e.self.Tell(message.EndUnopened{Exchange: x, Holder: facts.Holder, Again: func() { elsewhere{e.Gateway, 0}.Delete(x, admitted) }})
}

// session returns the actor of the session with that ID. A session of a cluster is not found after the secret that sealed its ID
// was removed.
func (g *Gateway) session(id string) (kernel.Reference, bool) {
	if !session.ValidID(id) && (g.cluster == nil || !g.cluster.Secrets.Names(id)) {
		return kernel.Reference{}, false
	}
	return g.system.Lookup(session.FullName(id))
}
