package pool

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// maxRefreshes is how many clients may wait for one list to be looked at again; more are answered by what is known.
const maxRefreshes = 256

// refreshes are the clients that want what is not listed, and wait for the list to be fetched and then to be seen by everybody.
type refreshes struct {
	fetching   [protocol.ItemKinds][]message.Refresh
	unlocking  []message.Refresh            // of a server that nobody knows yet, and where somebody has just logged in
	confirming map[uint64][]message.Refresh // by the number of the question to the registry
}

// fetch asks the leader for a list.
func (s *state) fetch(m message.Fetch, out []kernel.Effect) []kernel.Effect {
	if l := s.replicas.leader(); l != nil && l.phase == message.Ready {
		return append(out, kernel.Tell(l.ref, m))
	}
	return out
}

// refresh has a list looked at again for a client that waits.
func (s *state) refresh(m message.Refresh, out []kernel.Effect) []kernel.Effect {
	if s.logins.announced == needsAttempt && len(s.catalog.refreshes.unlocking) < maxRefreshes {
		s.catalog.refreshes.unlocking = append(s.catalog.refreshes.unlocking, m)
		return out
	}
	l := s.replicas.leader()
	if l == nil || l.phase != message.Ready || len(s.catalog.refreshes.fetching[m.Kind]) >= maxRefreshes {
		return append(out, kernel.Tell(m.Who, message.RefreshResult{Seq: m.Seq}))
	}
	s.catalog.refreshes.fetching[m.Kind] = append(s.catalog.refreshes.fetching[m.Kind], m)
	return s.fetch(message.Fetch{Kind: m.Kind, Wanted: true}, out)
}

// fetched: the list is at the registry; those who wait are told when it is in the catalog that they see.
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
	return append(out, kernel.Tell(s.registry, message.Confirm{Who: s.self, Key: key}))
}

// refreshed tells those who waited for that answer of the registry.
func (s *state) answerRefreshes(key uint64, out []kernel.Effect) []kernel.Effect {
	for _, m := range s.catalog.refreshes.confirming[key] {
		out = append(out, kernel.Tell(m.Who, message.RefreshResult{Seq: m.Seq}))
	}
	delete(s.catalog.refreshes.confirming, key)
	return out
}

// unlocked tells those who waited for what a login would show: clients see it now, or it has shown nothing.
func (s *state) loginDecided(out []kernel.Effect) []kernel.Effect {
	for _, m := range s.catalog.refreshes.unlocking {
		out = append(out, kernel.Tell(m.Who, message.RefreshResult{Seq: m.Seq}))
	}
	s.catalog.refreshes.unlocking = nil
	return out
}

// giveUpRefreshes: whom the leader owed an answer is answered by what is known.
func (s *state) failFetches(out []kernel.Effect) []kernel.Effect {
	for kind, waiting := range s.catalog.refreshes.fetching {
		for _, m := range waiting {
			out = append(out, kernel.Tell(m.Who, message.RefreshResult{Seq: m.Seq}))
		}
		s.catalog.refreshes.fetching[kind] = nil
	}
	return out
}
