package actors

import (
	"fmt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// owner is the client for which a session is counted.
type owner struct {
	name          string // the principal; without authentication the client's address (on loopback with its clientInfo), or "stdio"
	authenticated bool   // name is a principal
}

// ownerOf returns the owner of a session that a client opens. x is nil if the client opens it with a stream.
func ownerOf(a *message.Admitted, o *downstream.Origin, x *downstream.Exchange) owner {
	if principal := a.Principal(); principal != "" {
		return owner{principal, true}
	}
	if x == nil {
		return owner{name: downstream.HostOf(o.Remote)}
	}
	return owner{name: message.ClientKey(x, a.Who)}
}

// owners counts the sessions and subscriptions of each owner. Sessions that are being spawned count, too.
type owners struct {
	of            map[kernel.Reference]owner
	sessions      map[owner]int
	subscribed    map[kernel.Reference]int // subscriptions of each session; only for authenticated owners
	subscriptions map[owner]int            // sum over the owner's sessions
}

func newOwners() owners {
	return owners{map[kernel.Reference]owner{}, map[owner]int{}, map[kernel.Reference]int{}, map[owner]int{}}
}

// begin counts a session that is being spawned.
func (o *owners) begin(who owner, subscriptions int) {
	o.sessions[who]++
	o.count(who, subscriptions)
}

// add records a session that was counted by begin.
func (o *owners) add(session kernel.Reference, who owner, subscriptions int) {
	o.of[session] = who
	if subscriptions > 0 {
		o.subscribed[session] = subscriptions
	}
}

// remove removes a session that has ended.
func (o *owners) remove(session kernel.Reference) {
	if who, known := o.of[session]; known {
		o.release(who, o.subscribed[session])
		delete(o.of, session)
		delete(o.subscribed, session)
	}
}

// release undoes begin.
func (o *owners) release(who owner, subscriptions int) {
	if o.sessions[who]--; o.sessions[who] <= 0 {
		delete(o.sessions, who)
	}
	o.count(who, -subscriptions)
}

// count adds delta to an owner's subscriptions.
func (o *owners) count(who owner, delta int) {
	if o.subscriptions[who] += delta; o.subscriptions[who] == 0 {
		delete(o.subscriptions, who)
	}
}

// tooMany returns a fault if adding more subscriptions would take who above limit, the maximum per principal (0 =
// unlimited). Otherwise it returns nil. Unauthenticated owners are not limited, because one address may stand for many
// clients.
func (o *owners) tooMany(who owner, more, limit int) *protocol.Fault {
	if !who.authenticated || more == 0 || limit == 0 || o.subscriptions[who]+more <= limit {
		return nil
	}
	return &protocol.Fault{Name: protocol.Overloaded, Message: fmt.Sprintf("too many subscriptions: %d more would exceed the limit of %d for one principal over all its sessions and streams "+
		"(limits.maxSubscriptionsPerPrincipal); unsubscribe from unneeded resources, or end sessions and streams of the same key", more, limit)}
}

// stepSubscriptions reserves and releases subscriptions. It ignores sessions that have ended, since ChildStopped may
// overtake messages that the session sent before.
func (s *state) stepSubscriptions(msg any, out []kernel.Effect) []kernel.Effect {
	o := &s.sessions.owners
	switch m := msg.(type) {
	case message.ReserveSubscriptions:
		who, known := o.of[m.Session]
		if !known {
			return out
		}
		fault := o.tooMany(who, m.Count, s.config.Limits.MaxSubscriptionsPerPrincipal)
		if fault == nil {
			o.subscribed[m.Session] += m.Count
			o.count(who, m.Count)
		}
		return append(out, kernel.Tell(m.Session, message.ReserveSubscriptionsResult{Seq: m.Seq, Fault: fault}))
	case message.ReleaseSubscriptions:
		who, known := o.of[m.Session]
		if !known {
			return out
		}
		count := min(m.Count, o.subscribed[m.Session])
		if o.subscribed[m.Session] -= count; o.subscribed[m.Session] == 0 {
			delete(o.subscribed, m.Session)
		}
		o.count(who, -count)
	}
	return out
}
