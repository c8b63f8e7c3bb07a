package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Limits for fetching a list whose changes the server does not announce. Such a list is fetched again when a client
// requests it.
const (
	stalePause = 2 * time.Second // shortest pause between two fetches
	staleRate  = 1 << 20         // bytes per second
)

// changesSilently reports whether the server may change the list without announcing it here. The lists of a legacy server
// that does not declare listChanged are assumed not to change. In a cluster, another node may learn of a change first: the one
// that runs the server, or the one on whose connection the change was caused, if the server announces it only there.
func (s *state) changesSilently(kind protocol.ItemKind) bool {
	return s.server.Hop != "" || s.server.Shared || s.changesUnannounced(kind)
}

// changesUnannounced reports whether the server announces no changes of the list to any client.
func (s *state) changesUnannounced(kind protocol.ItemKind) bool {
	return s.conn.era == protocol.EraModern && !s.conn.streams.reports(kind)
}

// refetchSilent fetches a list whose changes the server does not announce: at once, or when the pause since the last
// fetch is over. A waiting client is answered at once if the list need not be fetched. During the pause it is answered at
// once if the server announces the list's changes to some client and has announced none here.
func (s *state) refetchSilent(now time.Time, m message.Fetch, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[m.Kind]
	switch {
	case s.life.phase != message.Ready || !s.catalog || !l.wanted || !s.changesSilently(m.Kind):
		if m.Wanted {
			out = append(out, kernel.Tell(s.pool, message.FetchResult{Kind: m.Kind}))
		}
		return out
	case !m.Wanted && now.Before(l.ended.Add(l.ttl)):
		return out // still fresh
	}
	pause := max(stalePause, time.Duration(l.bytes)*time.Second/staleRate)
	left := l.ended.Add(pause).Sub(now)
	if m.Wanted && left > 0 && !l.running && !l.changedMeanwhile && !s.changesUnannounced(m.Kind) {
		return append(out, kernel.Tell(s.pool, message.FetchResult{Kind: m.Kind}))
	}
	l.awaited = l.awaited || m.Wanted
	if l.running || l.paused {
		return out
	}
	if left > 0 {
		l.paused = true
		return append(out, kernel.WakeAfter(left, listDue{s.conn.incarnation, m.Kind, l.fetches}))
	}
	return s.fetch(m.Kind, out)
}

// fetchOver records the end of a fetch and reports it to the pool if a client waits, whether or not the fetch succeeded.
func (s *state) fetchOver(now time.Time, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.ended = now
	if !l.awaited {
		return out
	}
	l.awaited = false
	return append(out, kernel.Tell(s.pool, message.FetchResult{Kind: kind}))
}
