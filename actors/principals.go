package actors

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// principals tells everybody who holds something for principals what has become of them. Clients that wait for room are settled when they get
// it.
func (s *state) principals(m message.Principals, out []kernel.Effect) []kernel.Effect {
	s.changed = m
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, m))
	}
	for _, desk := range s.desks {
		out = append(out, kernel.Tell(desk, m))
	}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		out = append(out, kernel.Tell(s.pools[name], m))
	}
	return out
}
