package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Admitted is who asks and what that may see, as admission.Admit has decided. Whoever serves the request uses this and nothing of what the
// request says itself.
type Admitted struct {
	View  catalog.Key
	Who   *identity.Principal // who asks; nil = identity.Local
	Epoch uint64              // counts the changes of principals that were known then
}

// Principal is PrincipalOf who asks.
func (a *Admitted) Principal() string { return PrincipalOf(a.Who) }

// PrincipalOf is to what all is bound that belongs to who asks, its identity.Holder; "" for one that was never asked who it is.
func PrincipalOf(who *identity.Principal) string {
	if identity.IDOf(who) == identity.LocalID {
		return ""
	}
	return identity.HolderOf(who)
}

// NameOf is what people call a principal; "" for one that was never asked who it is.
func NameOf(who *identity.Principal) string {
	if PrincipalOf(who) == "" {
		return ""
	}
	return who.Name
}

// Narrowed is what of a view somebody may see: the projects and rights are theirs.
func Narrowed(key catalog.Key, who *identity.Principal) catalog.Key {
	key.Projects, key.Rights, key.Policy = "", "", nil
	if who == nil {
		return key
	}
	if key.Project == "" {
		key.Projects = catalog.Together(who.Projects)
	}
	key.Rights, key.Policy = who.Rights, policy.Of(who, nil)
	return key
}

// Refusal is why a request may see nothing.
type Refusal struct {
	Status int // of the HTTP answer
	Fault  *protocol.Fault
}

// Refuse answers a message of a client of that era with the refusal. Where nobody waits for an answer on stdin and stdout, none is
// written.
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
