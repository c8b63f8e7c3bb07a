package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// maxRefreshes is the maximum number of clients that wait for one list to be fetched again, or for the first catalog
// after a login. Further clients are answered from the current list.
const maxRefreshes = 256

// refreshes holds the clients that asked for an item that is not listed. They wait until the list has been fetched
// again and every client can see it.
type refreshes struct {
	fetching   [protocol.ItemKinds][]message.Refresh
	afterLogin []message.Refresh            // clients that wait for the first catalog after a login
	confirming map[uint64][]message.Refresh // by key of the confirmation requested from the registry
}

// fetch asks the leader for a list, if it is ready.
func (s *state) fetch(m message.Fetch, out []kernel.Effect) []kernel.Effect {
	if l := s.replicas.leader(); l != nil && l.phase == message.Ready {
		return append(out, kernel.Tell(l.ref, m))
	}
	return out
}

// refresh fetches a list again for a client that waits. If a user has just logged in to the server, the client waits
// for the first catalog instead. If no leader is ready, or too many clients wait, the client is answered from the
// current list.
func (s *state) refresh(m message.Refresh, out []kernel.Effect) []kernel.Effect {
	if s.logins.announced == needsAttempt && len(s.catalog.refreshes.afterLogin) < maxRefreshes {
		s.catalog.refreshes.afterLogin = append(s.catalog.refreshes.afterLogin, m)
		return out
	}
	l := s.replicas.leader()
	if l == nil || l.phase != message.Ready || len(s.catalog.refreshes.fetching[m.Kind]) >= maxRefreshes {
		return append(out, kernel.Tell(m.From, message.RefreshResult{Seq: m.Seq}))
	}
	s.catalog.refreshes.fetching[m.Kind] = append(s.catalog.refreshes.fetching[m.Kind], m)
	return s.fetch(message.Fetch{Kind: m.Kind, Wanted: true}, out)
}

// listFetched handles the end of a fetch. If a list was fetched, it has been sent to the registry. The waiting clients
// are answered when they can see it.
func (s *state) listFetched(m message.FetchResult, out []kernel.Effect) []kernel.Effect {
	waiting := s.catalog.refreshes.fetching[m.Kind]
	if len(waiting) == 0 {
		return out
	}
	s.catalog.refreshes.fetching[m.Kind] = nil
	if s.catalog.refreshes.confirming == nil {
		s.catalog.refreshes.confirming = map[uint64][]message.Refresh{}
	}
	key := s.catalog.nextConfirm()
	s.catalog.refreshes.confirming[key] = waiting
	return append(out, kernel.Tell(s.registry, message.Confirm{From: s.self, Key: key}))
}

// answerRefreshes answers the clients that waited for a confirmation by the registry.
func (s *state) answerRefreshes(key uint64, out []kernel.Effect) []kernel.Effect {
	for _, m := range s.catalog.refreshes.confirming[key] {
		out = append(out, kernel.Tell(m.From, message.RefreshResult{Seq: m.Seq}))
	}
	delete(s.catalog.refreshes.confirming, key)
	return out
}

// loginDecided answers the clients that waited for the outcome of a login. They now see the catalog, or an error if
// the login did not help.
func (s *state) loginDecided(out []kernel.Effect) []kernel.Effect {
	for _, m := range s.catalog.refreshes.afterLogin {
		out = append(out, kernel.Tell(m.From, message.RefreshResult{Seq: m.Seq}))
	}
	s.catalog.refreshes.afterLogin = nil
	return out
}

// failFetches answers the clients that waited for the previous leader. They get the current list.
func (s *state) failFetches(out []kernel.Effect) []kernel.Effect {
	for kind, waiting := range s.catalog.refreshes.fetching {
		for _, m := range waiting {
			out = append(out, kernel.Tell(m.From, message.RefreshResult{Seq: m.Seq}))
		}
		s.catalog.refreshes.fetching[kind] = nil
	}
	return out
}
