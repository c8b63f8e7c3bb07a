package kernel

import (
	"cmp"
	"slices"
)

// ActorSet is a set of actors, ordered by when they were spawned, oldest first. A step that iterates over it returns
// its effects in a deterministic order, unlike with a map. The zero ActorSet is empty and ready to use.
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

// Add adds r, unless it is in the set already.
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

// find returns the index of r and true, or where to insert r and false. Several references can have age 0: those of
// actors that were never spawned.
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
