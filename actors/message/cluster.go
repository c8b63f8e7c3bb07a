package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Elsewhere decides again which node handles a request of a session of a cluster, because the session's actor on this node cannot. It
// answers the request if no node can handle it. Its methods do not block.
type Elsewhere interface {
	Post(x *downstream.Exchange, a Admitted)
	Open(s *downstream.EventStream, a Admitted)
	Delete(x *downstream.Exchange, a Admitted)
}

// PassOn passes on to another node of the cluster a request that this node has not executed. It returns false if no other node can serve
// the request. It does not block, and is called at most once. nil is for requests that only this node can serve.
type PassOn func() bool

// Passed passes the request on if it is refused because this node stops. It reports whether it has done so.
func (p PassOn) Passed(fault *protocol.Fault) bool {
	return p != nil && fault.Name == protocol.ShuttingDown && p()
}

// passedOn passes the request on if an actor of this node has ended before it handled the request.
func (p PassOn) passedOn(why kernel.Reason) bool { return p != nil && hasEnded(why) && p() }

// SessionMoves refuses a request of a session whose actor ends on this node, or that moves to another node.
var SessionMoves = &protocol.Fault{Name: protocol.ServerUnavailable, Retryable: true, RetryAfter: time.Second,
	Message: "this session is moving to another node of the cluster; the request was not executed"}

// hasEnded reports whether a message was abandoned because the session's actor has ended on this node.
func hasEnded(why kernel.Reason) bool {
	return why == kernel.ReceiverStopped || why == kernel.NotRunning
}

// ClusterInbound is an Inbound for a session of a cluster. If the session's actor ends before it handles the message, the session may
// live on at another node, or here in a new actor.
type ClusterInbound struct {
	Inbound
	Elsewhere
}

// Abandon decides again where the message goes, or answers that the session is overloaded or has failed.
func (m ClusterInbound) Abandon(why kernel.Reason) {
	switch {
	case hasEnded(why):
		m.Post(m.Exchange, m.Admitted)
	case why == kernel.Panicked:
		RefuseFault(m.Exchange, 500, &protocol.Fault{Name: protocol.InternalFault})
	default:
		m.Inbound.Abandon(why)
	}
}

// ClusterStream is a StreamOpened for a session of a cluster.
type ClusterStream struct {
	StreamOpened
	Elsewhere
}

// Abandon decides again where the stream goes, or refuses it.
func (m ClusterStream) Abandon(why kernel.Reason) {
	if hasEnded(why) {
		m.Open(m.Stream, m.Admitted)
		return
	}
	m.StreamOpened.Abandon(why)
}

// ClusterEnd is an EndSession for a session of a cluster.
type ClusterEnd struct {
	EndSession
	Elsewhere
}

// Abandon decides again where the request goes, or answers that the session does not exist.
func (m ClusterEnd) Abandon(why kernel.Reason) {
	if hasEnded(why) {
		m.Delete(m.Exchange, m.Admitted)
		return
	}
	m.EndSession.Abandon(why)
}

// MembersChanged tells the gateway and its sessions that the members of the cluster have changed, so that the home of a session may be
// another node. A session reads the newest view by itself.
type MembersChanged struct{ View *cluster.View }

// Class is State: the newest view counts.
func (MembersChanged) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed.
func (MembersChanged) Key() any { return MembersChanged{} }
