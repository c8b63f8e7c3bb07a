package backend

import (
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Bounds of how often a list is fetched again because a modern server calls it stale.
const (
	minTTL = 30 * time.Second
	maxTTL = 24 * time.Hour
)

// A list that changes all the time is fetched no faster than this.
const (
	listPause = 20 * time.Millisecond // between one and the next
	listRate  = 16 << 20              // bytes a second
)

// pauseList has a list that changed while it was fetched fetched again, after a pause that grows with it.
func (s *state) pauseList(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = true
	pause := max(listPause, time.Duration(l.bytes)*time.Second/listRate)
	return append(out, kernel.WakeAfter(pause, listDue{s.conn.incarnation, kind, l.fetches}))
}

// noteTTL notes a page's ttlMs, raw JSON: the list is as fresh as its stalest page. None, and what makes no sense, is 0: stale
// at once. Then it is fetched again when somebody asks for it (stale.go). MCP 2026-07-28, server/utilities/caching.
func (l *listing) noteTTL(raw []byte) {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || ms <= 0 {
		l.stale = true
	}
	if l.stale {
		l.ttl = 0
		return
	}
	ttl := maxTTL
	if ms < float64(maxTTL/time.Millisecond) {
		ttl = time.Duration(ms) * time.Millisecond
	}
	if l.ttl == 0 || ttl < l.ttl {
		l.ttl = max(ttl, minTTL)
	}
}

// scheduleRefetch has a list fetched again when it has gone stale, unless the server says of itself when it changes. The pause
// is up to a tenth longer, so that the gateways of a server do not come all at once.
func (s *state) scheduleRefetch(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	if l.ttl == 0 || !s.catalog || s.conn.streams.tells(kind) {
		return out
	}
	pause := l.ttl + time.Duration(s.rng.Int64N(int64(l.ttl/10)))
	return append(out, kernel.WakeAfter(pause, ttlExpired{s.conn.incarnation, kind, l.fetches}))
}

// ttlExpired fetches a list again; whoever holds the old one compares.
func (s *state) ttlExpired(m ttlExpired, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Ready || s.conn.lists[m.kind].fetches != m.fetches || s.conn.streams.tells(m.kind) {
		return out
	}
	return s.refetch(m.kind, out)
}

// refetch fetches a list that may have changed although nobody said so.
func (s *state) refetch(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	switch {
	case !l.wanted || !s.catalog:
		return out
	case l.running, l.paused:
		l.refetch = true
		return out
	}
	return s.fetch(kind, out)
}
