package kernel

import (
	"cmp"
	"slices"
)

// ActorSet is a set of actors in the order of their spawning, the oldest first. Iterating over it gives a deterministic
// order of effects, unlike a map. The zero ActorSet is empty.
type ActorSet struct{ members []Reference }

// Len returns the number of actors.
func (c *ActorSet) Len() int { return len(c.members) }

// All returns the actors, the oldest first. The caller must not modify the slice, nor use it after Add or Remove.
func (c *ActorSet) All() []Reference { return c.members }

// Has reports whether r is in the set.
func (c *ActorSet) Has(r Reference) bool {
	_, found := c.find(r)
	return found
}

// Add adds r.
func (c *ActorSet) Add(r Reference) {
	if at, found := c.find(r); !found {
		c.members = slices.Insert(c.members, at, r)
	}
}

// Remove removes r and reports whether it was in the set.
func (c *ActorSet) Remove(r Reference) bool {
	at, found := c.find(r)
	if found {
		c.members = slices.Delete(c.members, at, at+1)
	}
	return found
}

// find returns the index of r, or where to insert it. Actors that were never spawned all have age 0.
func (c *ActorSet) find(r Reference) (at int, found bool) {
	age := r.age()
	first, _ := slices.BinarySearchFunc(c.members, age, func(each Reference, age uint64) int { return cmp.Compare(each.age(), age) })
	for at = first; at < len(c.members) && c.members[at].age() == age; at++ {
		if c.members[at] == r {
			return at, true
		}
	}
	return at, false
}
