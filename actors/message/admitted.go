package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Admitted is the decision of admission.Admit about a request: the principal and what the principal may see. Actors
// rely on it alone, never on what the request itself claims.
type Admitted struct {
	View  catalog.Key
	Who   *identity.Principal // the principal; nil = identity.Local
	Epoch uint64              // number of changes to principals that the decision took into account

	Behalf *identity.Behalf // for whom another node of the cluster sends the request; nil = no node sends it
}

// Principal returns the key under which actors keep what belongs to the request's principal (see PrincipalOf). For a request
// of another node, that is the principal of the node's client.
func (a *Admitted) Principal() string {
	if a.Behalf != nil {
		return PrincipalOf(a.Behalf.Who)
	}
	return PrincipalOf(a.Who)
}

// PrincipalOf returns the holder (identity.Holder) to which everything that belongs to a principal is bound, or "" if the client
// was not authenticated or is another node of the cluster.
func PrincipalOf(who *identity.Principal) string {
	if id := identity.IDOf(who); id == identity.LocalID || id == identity.NodeID {
		return ""
	}
	return identity.HolderOf(who)
}

// NameOf returns a principal's name for people, or "" if the client was not authenticated.
func NameOf(who *identity.Principal) string {
	if PrincipalOf(who) == "" {
		return ""
	}
	return who.Name
}

// Narrowed returns the key of the same view, restricted to the projects and rights of the principal who. If who is nil, the
// key has no restrictions.
func Narrowed(key catalog.Key, who *identity.Principal) catalog.Key {
	key.Projects, key.Rights, key.Policy = "", "", nil
	if who == nil {
		return key
	}
	if key.Project == "" {
		key.Projects = catalog.EncodeProjects(who.Projects)
	}
	key.Rights, key.Policy = who.Rights, policy.Of(who, nil)
	return key
}

// Refusal is the answer to a request that is not admitted.
type Refusal struct {
	Status int // of the HTTP response
	Fault  *protocol.Fault
}

// Refuse answers a client's message with the refusal, in the format of the client's era. On stdio, only single requests are
// answered; notifications, responses and batches are not.
func (r *Refusal) Refuse(x *downstream.Exchange, era protocol.Era) {
	request := x.Batch == nil && x.Frame.Kind == protocol.KindRequest
	switch {
	case x.Origin.Stdio && !request:
		x.Accept()
		return
	case era == protocol.EraLegacy:
		RefuseFault(x, r.Status, r.Fault)
		return
	}
	var id []byte
	if request {
		id = x.Frame.IDBytes()
	}
	body := r.Fault.AppendTo(nil, id, era)
	if r.Status == 200 {
		x.Answer(protocol.Message{Frame: body})
		return
	}
	x.Refuse(r.Status, body, r.Fault.RetryAfter)
}

// RefuseStream answers with the refusal instead of opening a stream.
func (r *Refusal) RefuseStream(s *downstream.EventStream) { RefuseStream(s, r.Status, r.Fault) }
