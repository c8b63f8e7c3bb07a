package pool

import (
	"cmp"
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// dropChangedLogins stops the actors of logins whose server or auth settings have changed. Their successors load from
// the store only logins that match the new settings, so a token is never sent to a server other than the one it was
// issued for.
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

// findEntry returns the entry with that name in a pool's configuration, or nil if none that runs has it.
func findEntry(server *config.Server, name string) *config.Server {
	for replica := range server.ReplicaCount() {
		if entry, _, runs := server.Replica(replica); runs && entry.Name == name {
			if entry.Away != nil { // this node can log in, and the node that runs the server uses the login
				return entry.Away
			}
			return entry
		}
	}
	return nil
}
