package auth

import (
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// Holder returns the principal with a holder (identity.HolderOf). It serves requests that another node of the cluster has
// admitted and passes on, so it counts no request and enforces no limit. If this node has no such key, or if the key has
// expired, the refusal is that of a revoked or expired key.
func (g *Gate) Holder(holder string) (*identity.Principal, *downstream.Refusal) {
	s, now := g.state.Load(), time.Now()
	if s.keys == nil {
		if holder == identity.HolderOf(s.anonymous) {
			return s.anonymous, nil
		}
		return nil, g.unknownHolder(now, holder)
	}
	e := s.keys.holders()[holder]
	switch {
	case e == nil:
		return nil, g.unknownHolder(now, holder)
	case !e.who.Expires.IsZero() && !now.Before(e.who.Expires):
		return nil, refusedExpired
	}
	return e.who, nil
}

// unknownHolder returns the refusal of a key that another node has and this one has not.
func (g *Gate) unknownHolder(now time.Time, holder string) *downstream.Refusal {
	if g.options.Log != nil && g.logLimit.allow(now) {
		g.options.Log.Warn("request of another node refused: this node does not have that key", "who", identity.IDIn(holder))
	}
	return refusedInvalid
}

// byHolder returns the entries by holder.
func (s *keySet) byHolder() map[string]*entry {
	of := make(map[string]*entry, len(s.list))
	for _, e := range s.list {
		of[identity.HolderOf(e.who)] = e
	}
	return of
}
