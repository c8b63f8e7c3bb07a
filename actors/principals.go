package actors

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// serverLog passes a line that belongs to no call on to the sessions of whose connection it came from. What a connection for everybody says may be
// about anybody's calls: it is for all sessions where nobody is asked who he is, else for none.
func (s *state) serverLog(m message.ServerLog, out []kernel.Effect) []kernel.Effect {
	if m.Principal == "" && s.config.Auth.On() {
		return out
	}
	for _, ref := range s.sessions.All() {
		if m.Principal == "" || s.owners.of[ref] == (owner{m.Principal, true}) {
			out = append(out, kernel.Tell(ref, m))
		}
	}
	return out
}

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
