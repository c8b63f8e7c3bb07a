package auth

import (
	"crypto/subtle"
	"encoding/binary"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/namespace"
)

// keySet is the keys in force. Immutable, but for what its entries count.
type keySet struct {
	keys []Key             // what it was made of
	of   map[uint64]*entry // by the first bytes of their sum
	list []*entry          // as the file has them
}

// entry is one key, and whose it is.
type entry struct {
	sum  Sum
	who  *identity.Principal
	use  *usage // survives new sets
	next *entry // with the same first bytes; nil = none
}

// newKeySet makes a set, of those that have what the settings say. What before had of the same principals goes on: what they have under way, and unchanged principals as they are.
func newKeySet(keys []Key, s *Settings, before *keySet) *keySet {
	old := before.byID()
	set := &keySet{keys: keys, of: make(map[uint64]*entry, len(keys)), list: make([]*entry, 0, len(keys))}
	for _, k := range keys {
		id := identity.ViaKey + ":" + k.Name
		who := &identity.Principal{
			ID: id, Name: k.Name, Via: identity.ViaKey, Holder: identity.Held(id, firstOf(&k.Sum)),
			Projects: slugs(k.Projects), Expires: k.Expires, Rights: s.rights(slugs(k.Roles), k.Name, false), Policy: s.Policy,
		}
		if s.Admin != nil {
			who.Admin = s.Admin(who.Rights, false)
		}
		e := &entry{sum: k.Sum, who: who}
		if was := old[who.ID]; was != nil {
			e.use = was.use
			if same(was.who, who) {
				e.who = was.who
			}
		} else {
			e.use = new(usage)
		}
		first := firstOf(&e.sum)
		e.next, set.of[first] = set.of[first], e
		set.list = append(set.list, e)
	}
	return set
}

func firstOf(sum *Sum) uint64 { return binary.LittleEndian.Uint64(sum[:8]) }

// find returns the entry of a sum; nil = there is none.
func (s *keySet) find(sum *Sum) *entry {
	for e := s.of[firstOf(sum)]; e != nil; e = e.next {
		if subtle.ConstantTimeCompare(e.sum[:], sum[:]) == 1 {
			return e
		}
	}
	return nil
}

func (s *keySet) byID() map[string]*entry {
	of := map[string]*entry{}
	if s != nil {
		for _, e := range s.list {
			of[e.who.ID] = e
		}
	}
	return of
}

// slugs are names as the configuration's roles and projects have them.
func slugs(names []string) []string {
	if names == nil {
		return nil
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = namespace.Slug(name)
	}
	return out
}

// changedTo says who is gone in next, which principals are others, and which have come. A key of the same name with another sum has
// gone and come: somebody else, who may not go on with what the first one had.
func (s *keySet) changedTo(next *keySet) (gone, changed, come map[string]*identity.Principal) {
	gone, changed, come = map[string]*identity.Principal{}, map[string]*identity.Principal{}, map[string]*identity.Principal{}
	before, after := s.byID(), next.byID()
	for id, e := range before {
		if now := after[id]; now == nil || now.sum != e.sum {
			gone[id] = nil
		}
	}
	for id, e := range after {
		switch was := before[id]; {
		case was == nil || was.sum != e.sum:
			come[id] = e.who
		case was.who != e.who:
			changed[id] = e.who
		}
	}
	return gone, changed, come
}

// same compares principals of one id. In another policy the same rights may mean something else.
func same(a, b *identity.Principal) bool { return identity.Alike(a, b) && a.Policy == b.Policy }

// expiring returns who has expired between two times, the second included, and when the next one will; zero = none will.
func (s *keySet) expiring(after, now time.Time) (expired map[string]*identity.Principal, next time.Time) {
	expired = map[string]*identity.Principal{}
	for _, e := range s.list {
		at := e.who.Expires
		switch {
		case at.IsZero():
		case at.After(now):
			if next.IsZero() || at.Before(next) {
				next = at
			}
		case at.After(after):
			expired[e.who.ID] = nil
		}
	}
	return expired, next
}
