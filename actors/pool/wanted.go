package pool

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// wanted says which connections a call may use.
type wanted struct {
	can       message.CapabilitySet // what its client answers: connections of classes announce just that
	oldClient bool                  // it is of a legacy era
	replica   int                   // those of that replica, counted from 1; 0 = any
	at        *slot                 // that one; nil = any
	tenant    string                // those of that tenant, by its key; "" = those for everybody
	tool      string                // those of replicas that define the tool as it is listed; "" = whatever they define

	prefer *message.Prefer // those first whose replicas meet it, or none else; nil = all alike
}

// wants says where a call may go: a resource is read where it was mentioned.
func (s *state) wants(r *message.Request) wanted {
	if at := s.mentionedBy(r); at != nil && (r.Prefer == nil || !r.Prefer.Required || r.Prefer.IsMetBy(at.labels)) {
		return wanted{at: at}
	}
	return s.wantsAnywhere(r)
}

// wantsAnywhere leaves out who has mentioned a resource. A task is asked for at its own replica: another would say that it does
// not know it, and it would be forgotten. When the connection has been replaced, nobody can tell which that is.
func (s *state) wantsAnywhere(r *message.Request) wanted {
	w := wanted{can: r.Caller.Can, oldClient: !r.Modern, tenant: r.Tenant.KeyOf(), replica: r.Replica, prefer: r.Prefer}
	if len(s.deviations) > 0 && r.Replica == 0 && r.Frame.M == protocol.MethodToolsCall { // who names a replica means its own tool
		w.tool = r.Item
	}
	if r.Home != nil && s.replicas() > 1 {
		if sl := s.slotOf(r.Home.Backend); sl != nil {
			w.replica = sl.replica + 1
		}
	}
	return w
}

// serves reports whether the slot is of the class of connections that is wanted of its replica.
func (s *state) serves(w wanted, sl *slot) bool {
	if w.at != nil {
		return sl == w.at
	}
	if sl.tenant.KeyOf() != w.tenant {
		return false
	}
	can, legacy := s.classOf(w, sl.replica)
	return sl.can == can && sl.legacy == legacy
}

// classOf is what the connections of a replica announce that such calls use, and whether they are opened for legacy clients beside a
// modern one. Each replica has its own era, so of some it is the main connection, which can all.
func (s *state) classOf(w wanted, replica int) (can message.CapabilitySet, legacy bool) {
	switch {
	case s.server.Isolation != isolationClass && w.tenant == "":
		return message.CanAll, false
	case !s.modern[replica]:
		return w.can, false
	case s.asLegacy(w, replica):
		return w.can, true
	}
	return message.CanAll, false
}

// replicaIs reports whether the slot's replica is the one that is wanted, if any is, or the slot itself.
func (w wanted) replicaIs(sl *slot) bool {
	return (w.at == nil || w.at == sl) && w.mayBe(sl.replica, sl.labels)
}

// mayBe reports whether a replica with these labels will do.
func (w wanted) mayBe(replica int, labels map[string]string) bool {
	return (w.replica == 0 || w.replica == replica+1) && (w.prefer == nil || !w.prefer.Required || w.prefer.IsMetBy(labels))
}
