package kernel

import (
	"cmp"
	"slices"
)

// Crowd is a set of actors that keeps their order, the oldest first: what an actor does to many at once it must not do in the
// order of a map, which is another one each time. The zero Crowd is empty.
type Crowd struct{ members []Reference }

// Len is how many there are.
func (c *Crowd) Len() int { return len(c.members) }

// All returns them, the oldest first; not to be written to, and not to be kept over Add and Remove.
func (c *Crowd) All() []Reference { return c.members }

// Has reports whether r is among them.
func (c *Crowd) Has(r Reference) bool {
	_, found := c.find(r)
	return found
}

// Add takes r in, once.
func (c *Crowd) Add(r Reference) {
	if at, found := c.find(r); !found {
		c.members = slices.Insert(c.members, at, r)
	}
}

// Remove lets r go, and reports whether it was among them.
func (c *Crowd) Remove(r Reference) bool {
	at, found := c.find(r)
	if found {
		c.members = slices.Delete(c.members, at, at+1)
	}
	return found
}

// find returns where r is, or belongs. Those that were never spawned are all of one age.
func (c *Crowd) find(r Reference) (at int, found bool) {
	age := r.age()
	first, _ := slices.BinarySearchFunc(c.members, age, func(each Reference, age uint64) int { return cmp.Compare(each.age(), age) })
	for at = first; at < len(c.members) && c.members[at].age() == age; at++ {
		if c.members[at] == r {
			return at, true
		}
	}
	return at, false
}
