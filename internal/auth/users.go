package auth

import (
	"time"

	"goblin-actor/internal/identity"
)

// User is a principal with the number of its open streams.
type User struct {
	Who     *identity.Principal
	Streams int
	Expired bool // its key has expired
}

// Users returns the principals that have keys, in the order of the key file. If clients need not authenticate, it
// returns the principal of all clients.
func (g *Gate) Users() []User {
	s, now := g.state.Load(), time.Now()
	if s.keys == nil {
		return []User{{Who: s.anonymous}}
	}
	all := make([]User, len(s.keys.list))
	for i, e := range s.keys.list {
		all[i] = User{e.who, int(e.use.streams.Load()), !e.who.Expires.IsZero() && !now.Before(e.who.Expires)}
	}
	return all
}
