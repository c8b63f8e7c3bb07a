package auth

import (
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/namespace"
)

// keySet is a set of keys. It is immutable, except for the counters of its entries.
type keySet struct {
	bySum map[uint64]*entry // entries by the first 8 bytes of their sums
	list  []*entry          // entries in the order of the file

	holders func() map[string]*entry // byHolder, computed at the first call
}

// entry is a key and its principal.
type entry struct {
	sum  Sum
	who  *identity.Principal
	use  *usage // shared with later sets that have the same principal
	next *entry // next entry with the same first bytes; nil = last
}

// newKeySet builds a key set under the given settings. Principals that before also has keep their usage counters, and
// their *identity.Principal if nothing about them changed.
func newKeySet(keys []Key, s *Settings, before *keySet) *keySet {
	old := before.byID()
	set := &keySet{bySum: make(map[uint64]*entry, len(keys)), list: make([]*entry, 0, len(keys))}
	for _, k := range keys {
		id := identity.ViaKey + ":" + k.Name
		who := &identity.Principal{
			ID: id, Name: k.Name, Via: identity.ViaKey, Holder: identity.Held(id, firstBytes(&k.Sum)),
			Projects: slugs(k.Projects), Expires: k.Expires, Rights: s.rights(slugs(k.Roles), k.Name, false), Policy: s.Policy,
		}
		if s.Admin != nil {
			who.Admin = s.Admin(who.Rights, false)
		}
		e := &entry{sum: k.Sum, who: who, use: new(usage)}
		was := old[who.ID]
		if was != nil {
			e.use = was.use
		}
		if who.Usage = &e.use.counts; was != nil && samePrincipal(was.who, who) {
			e.who = was.who
		}
		first := firstBytes(&e.sum)
		e.next, set.bySum[first] = set.bySum[first], e
		set.list = append(set.list, e)
	}
	set.holders = sync.OnceValue(set.byHolder)
	return set
}

func firstBytes(sum *Sum) uint64 { return binary.LittleEndian.Uint64(sum[:8]) }

// find returns the entry with the given sum, or nil.
func (s *keySet) find(sum *Sum) *entry {
	for e := s.bySum[firstBytes(sum)]; e != nil; e = e.next {
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

// slugs converts names to the form that roles and projects have in the configuration.
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

// diff returns the principals that next no longer has, those that changed and those that are new, by id. A key with
// the same name but another sum is both removed and new: its holder must not continue the sessions of the previous
// holder.
func (s *keySet) diff(next *keySet) (gone, changed, come map[string]*identity.Principal) {
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

// samePrincipal reports whether two principals with the same id are equal. Under another policy, equal rights may mean
// something else.
func samePrincipal(a, b *identity.Principal) bool {
	return identity.Alike(a, b) && a.Policy == b.Policy
}

// expiring returns the principals whose keys expired after `after` and until now (inclusive), and the time at which
// the next key will expire (zero = none will).
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
