package backend

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Pauses of a list whose changes the server does not announce. It is fetched again when a client asks for it.
const (
	stalePause = 2 * time.Second // between one and the next
	staleRate  = 1 << 20         // bytes a second
)

// changesSilently reports whether the server changes the list without announcing it. Legacy servers are taken at
// their word: the lists of one that does not declare listChanged do not change.
func (s *state) changesSilently(kind protocol.ItemKind) bool {
	return s.conn.era == protocol.EraModern && !s.conn.streams.tells(kind)
}

// refetchSilent fetches a silent list again: at once, or when the pause since the last fetch is over.
func (s *state) refetchSilent(now time.Time, m message.Fetch, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[m.Kind]
	switch {
	case s.life.phase != message.Ready || !s.catalog || !l.wanted || !s.changesSilently(m.Kind):
		if m.Wanted {
			out = append(out, kernel.Tell(s.pool, message.FetchResult{Kind: m.Kind}))
		}
		return out
	case !m.Wanted && now.Before(l.ended.Add(l.ttl)):
		return out // as fresh as its server says
	}
	l.awaited = l.awaited || m.Wanted
	if l.running || l.paused {
		return out
	}
	pause := max(stalePause, time.Duration(l.bytes)*time.Second/staleRate)
	if left := l.ended.Add(pause).Sub(now); left > 0 {
		l.paused = true
		return append(out, kernel.WakeAfter(left, listDue{s.conn.incarnation, m.Kind, l.fetches}))
	}
	return s.fetch(m.Kind, out)
}

// fetchOver tells those that wait for a list that the fetch is over, whatever its outcome.
func (s *state) fetchOver(now time.Time, kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.ended = now
	if !l.awaited {
		return out
	}
	l.awaited = false
	return append(out, kernel.Tell(s.pool, message.FetchResult{Kind: kind}))
}
