package actors

import (
	"fmt"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// owners count sessions, those that are being spawned too, and what they are subscribed to.
type owners struct {
	of    map[kernel.Reference]owner
	subs  map[kernel.Reference]int // what each is subscribed to, where that counts
	count map[owner]int
	all   map[owner]int // what all of one are subscribed to
}

func newOwners() owners {
	return owners{map[kernel.Reference]owner{}, map[kernel.Reference]int{}, map[owner]int{}, map[owner]int{}}
}

// opening: a session is being spawned that is subscribed to so many.
func (o *owners) opening(who owner, subs int) {
	o.count[who]++
	o.subscribed(who, subs)
}

// opened: it is there.
func (o *owners) opened(session kernel.Reference, who owner, subs int) {
	o.of[session] = who
	if subs > 0 {
		o.subs[session] = subs
	}
}

func (o *owners) left(session kernel.Reference) {
	if who, known := o.of[session]; known {
		o.gone(who, o.subs[session])
		delete(o.of, session)
		delete(o.subs, session)
	}
}

func (o *owners) gone(who owner, subs int) {
	if o.count[who]--; o.count[who] <= 0 {
		delete(o.count, who)
	}
	o.subscribed(who, -subs)
}

func (o *owners) subscribed(who owner, more int) {
	if o.all[who] += more; o.all[who] == 0 {
		delete(o.all, who)
	}
}

// tooMany says why somebody may not be subscribed to so many more; nil = he may. Those who were not asked who they are may be many at one address.
func (s *state) tooMany(who owner, more int) *protocol.Fault {
	most := s.config.Limits.MaxSubscriptionsPerPrincipal
	if !who.asked || more == 0 || most == 0 || s.owners.all[who]+more <= most {
		return nil
	}
	return &protocol.Fault{Name: protocol.Overloaded, Message: fmt.Sprintf("too many subscriptions: %d more would be more than the %d that one principal may have over all its sessions and streams "+
		"(limits.maxSubscriptionsPerPrincipal); unsubscribe from what is not needed, or end sessions and streams of the same key", more, most)}
}

// askSubscriptions lets a session be subscribed to more, if its principal may. One that has ended is not listened to: the news of its end
// overtakes what it said before.
func (s *state) askSubscriptions(m message.ReserveSubscriptions, out []kernel.Effect) []kernel.Effect {
	who, known := s.owners.of[m.Session]
	if !known {
		return out
	}
	fault := s.tooMany(who, m.Count)
	if fault == nil {
		s.owners.subs[m.Session] += m.Count
		s.owners.subscribed(who, m.Count)
	}
	return append(out, kernel.Tell(m.Session, message.ReserveSubscriptionsResult{Seq: m.Seq, Fault: fault}))
}

// subscriptionsOver takes back what a session needs no more.
func (s *state) subscriptionsOver(m message.ReleaseSubscriptions) {
	who, known := s.owners.of[m.Session]
	if !known {
		return
	}
	count := min(m.Count, s.owners.subs[m.Session])
	if s.owners.subs[m.Session] -= count; s.owners.subs[m.Session] == 0 {
		delete(s.owners.subs, m.Session)
	}
	s.owners.subscribed(who, -count)
}
