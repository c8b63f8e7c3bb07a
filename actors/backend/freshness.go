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

// pauseList fetches a list again that changed while it was fetched, after a pause that grows each time.
func (s *state) pauseList(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = true
	pause := max(listPause, time.Duration(l.bytes)*time.Second/listRate)
	return append(out, kernel.WakeAfter(pause, listDue{s.conn.incarnation, kind, l.fetches}))
}

// noteTTL notes a page's ttlMs, raw JSON. The list is as fresh as its stalest page. A missing or invalid value
// counts as 0, stale at once: then the list is fetched again when a client asks for it (stale.go). MCP 2026-07-28,
// server/utilities/caching.
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

// scheduleRefetch fetches a list again when it is stale, unless the server announces changes. The pause is up to a
// tenth longer, so that several gateways do not ask a server at the same moment.
func (s *state) scheduleRefetch(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	if l.ttl == 0 || !s.catalog || s.conn.streams.tells(kind) {
		return out
	}
	pause := l.ttl + time.Duration(s.rng.Int64N(int64(l.ttl/10)))
	return append(out, kernel.WakeAfter(pause, ttlExpired{s.conn.incarnation, kind, l.fetches}))
}

// ttlExpired fetches a stale list again. The receiver compares it with the old one.
func (s *state) ttlExpired(m ttlExpired, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Ready || s.conn.lists[m.kind].fetches != m.fetches || s.conn.streams.tells(m.kind) {
		return out
	}
	return s.refetch(m.kind, out)
}

// refetch fetches a list that may have changed without notice.
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
