package pool

import (
	"cmp"
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// renewLogins has the actors of logins stopped that are at another server by the new configuration, or asked for in another way. Those that
// come after them take up what the store has, as far as it still fits: so a token goes nowhere but where it was meant for.
func (s *state) dropChangedLogins(before *config.Server, out []kernel.Effect) []kernel.Effect {
	keys := slices.SortedFunc(maps.Keys(s.logins.byKey), func(a, b message.LoginKey) int {
		return cmp.Or(cmp.Compare(a.Entry, b.Entry), cmp.Compare(a.Lane, b.Lane))
	})
	for _, key := range keys {
		was, is := findEntry(before, key.Entry), s.entry(key.Entry)
		if s.logins.revoking[key] || was != nil && is != nil && was.SameLogin(is) {
			continue
		}
		delete(s.logins.byKey, key)
		out = append(out, kernel.Act(endLogin{key}))
	}
	return out
}

// entryIn is the entry of that name in what a pool's configuration is or was; nil = there is none.
func findEntry(server *config.Server, name string) *config.Server {
	for replica := range server.ReplicaCount() {
		if entry, _, runs := server.Replica(replica); runs && entry.Name == name {
			return entry
		}
	}
	return nil
}
