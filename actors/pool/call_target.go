package pool

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// target describes which connections may carry a call.
type target struct {
	announces    message.CapabilitySet // capabilities of the client; a connection of a class announces exactly these
	legacyClient bool                  // the client speaks a legacy version
	replica      int                   // only connections to this replica, counted from 1; 0 = any
	conn         *connection           // only this connection; nil = any
	tenant       string                // only connections of this tenant, by its key; "" = shared ones
	tool         string                // only replicas that define this tool as clients see it; "" = any

	prefer *message.Prefer // which replicas are preferred or required; nil = all are equal
}

// targetOf returns which connections may carry a call. A resource is read on the connection that mentioned it, unless
// the client requires labels that this connection's replica does not have.
func (s *state) targetOf(r *message.Request) target {
	if at := s.mentionedOn(r); at != nil && (r.Prefer == nil || !r.Prefer.Required || r.Prefer.IsMetBy(at.labels)) {
		return target{conn: at}
	}
	return s.targetAnywhere(r)
}

// targetAnywhere is targetOf without regard to where a resource was mentioned. A request about a task goes to the
// replica that created the task: another one would answer that the task does not exist, and the client would forget it.
// If the connection that created the task is gone, the replica is unknown and any may be used.
func (s *state) targetAnywhere(r *message.Request) target {
	w := target{announces: r.Caller.Can, legacyClient: !r.Modern, tenant: r.Tenant.KeyOf(), replica: r.Replica, prefer: r.Prefer}
	if len(s.replicas.tools.deviating) > 0 && r.Replica == 0 && r.Frame.Method == protocol.MethodToolsCall { // a call that names a replica means that replica's own tool
		w.tool = r.Item
	}
	if r.Home != nil && s.replicaCount() > 1 {
		if conn := s.replicas.byBackend(r.Home.Backend); conn != nil {
			w.replica = conn.replica + 1
		}
	}
	return w
}

// matchesClass reports whether the connection has the target's tenant and belongs to the class that serves the target at
// the connection's replica. If the target names a connection, only that one matches.
func (s *state) matchesClass(w target, conn *connection) bool {
	if w.conn != nil {
		return conn == w.conn
	}
	if conn.tenant.KeyOf() != w.tenant {
		return false
	}
	can, legacy := s.classFor(w, conn.replica)
	return conn.announces == can && conn.legacy == legacy
}

// classFor returns the capabilities that a replica's connections for the target announce, and whether they are
// legacy connections to a modern server. Replicas may speak different eras. Where the main connection serves all
// clients, the result is (CanAll, false).
func (s *state) classFor(w target, replica int) (can message.CapabilitySet, legacy bool) {
	switch {
	case s.server.Isolation != isolationClass && w.tenant == "":
		return message.CanAll, false
	case !s.replicas.eras.modern[replica]:
		return w.announces, false
	case s.usesLegacyConnection(w, replica):
		return w.announces, true
	}
	return message.CanAll, false
}

// allows reports whether the target permits the connection and its replica.
func (w target) allows(conn *connection) bool {
	return (w.conn == nil || w.conn == conn) && w.allowsReplica(conn.replica, conn.labels)
}

// allowsReplica reports whether the target permits a replica with these labels.
func (w target) allowsReplica(replica int, labels map[string]string) bool {
	return (w.replica == 0 || w.replica == replica+1) && (w.prefer == nil || !w.prefer.Required || w.prefer.IsMetBy(labels))
}
