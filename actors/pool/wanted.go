package pool

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// wanted says which connections a call may use.
type target struct {
	announces    message.CapabilitySet // what its client answers: connections of classes announce just that
	legacyClient bool                  // it is of a legacy era
	replica      int                   // those of that replica, counted from 1; 0 = any
	conn         *connection           // that one; nil = any
	tenant       string                // those of that tenant, by its key; "" = those for everybody
	tool         string                // those of replicas that define the tool as it is listed; "" = whatever they define

	prefer *message.Prefer // those first whose replicas meet it, or none else; nil = all alike
}

// wants says where a call may go: a resource is read where it was mentioned.
func (s *state) targetOf(r *message.Request) target {
	if at := s.mentionedOn(r); at != nil && (r.Prefer == nil || !r.Prefer.Required || r.Prefer.IsMetBy(at.labels)) {
		return target{conn: at}
	}
	return s.targetAnywhere(r)
}

// wantsAnywhere leaves out who has mentioned a resource. A task is asked for at its own replica: another would say that it does
// not know it, and it would be forgotten. When the connection has been replaced, nobody can tell which that is.
func (s *state) targetAnywhere(r *message.Request) target {
	w := target{announces: r.Caller.Can, legacyClient: !r.Modern, tenant: r.Tenant.KeyOf(), replica: r.Replica, prefer: r.Prefer}
	if len(s.replicas.tools.deviating) > 0 && r.Replica == 0 && r.Frame.M == protocol.MethodToolsCall { // who names a replica means its own tool
		w.tool = r.Item
	}
	if r.Home != nil && s.replicaCount() > 1 {
		if conn := s.replicas.byBackend(r.Home.Backend); conn != nil {
			w.replica = conn.replica + 1
		}
	}
	return w
}

// serves reports whether the slot is of the class of connections that is wanted of its replica.
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

// classOf is what the connections of a replica announce that such calls use, and whether they are opened for legacy clients beside a
// modern one. Each replica has its own era, so of some it is the main connection, which can all.
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

// replicaIs reports whether the slot's replica is the one that is wanted, if any is, or the slot itself.
func (w target) allows(conn *connection) bool {
	return (w.conn == nil || w.conn == conn) && w.allowsReplica(conn.replica, conn.labels)
}

// mayBe reports whether a replica with these labels will do.
func (w target) allowsReplica(replica int, labels map[string]string) bool {
	return (w.replica == 0 || w.replica == replica+1) && (w.prefer == nil || !w.prefer.Required || w.prefer.IsMetBy(labels))
}
