package backend

import (
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// Bounds for the time for which a list is fresh according to a modern server (ttlMs). After that time it is fetched
// again.
const (
	minTTL = 30 * time.Second
	maxTTL = 24 * time.Hour
)

// Limits for fetching a list that changes all the time.
const (
	listPause = 20 * time.Millisecond // shortest pause between two fetches
	listRate  = 16 << 20              // bytes per second
)

// pauseList schedules another fetch of a list that changed while it was fetched. The pause grows with the list's size.
func (s *state) pauseList(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	l.paused = true
	pause := max(listPause, time.Duration(l.bytes)*time.Second/listRate)
	return append(out, kernel.WakeAfter(pause, listDue{s.conn.incarnation, kind, l.fetches}))
}

// noteTTL records a page's ttlMs, raw JSON. The smallest value of all pages counts. A missing or invalid value counts as
// 0, which means that the list is stale at once and fetched again when a client requests it (stale.go). MCP 2026-07-28,
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

// scheduleRefetch schedules another fetch for the time when the list's ttl is over, unless the server announces
// changes. For a list without a ttl, it schedules nothing. Up to a tenth is added to the pause, so that several
// gateways do not send requests at the same moment.
func (s *state) scheduleRefetch(kind protocol.ItemKind, out []kernel.Effect) []kernel.Effect {
	l := &s.conn.lists[kind]
	if l.ttl == 0 || !s.catalog || s.conn.streams.reports(kind) {
		return out
	}
	pause := l.ttl + time.Duration(s.rng.Int64N(int64(l.ttl/10)))
	return append(out, kernel.WakeAfter(pause, ttlExpired{s.conn.incarnation, kind, l.fetches}))
}

// ttlExpired fetches a stale list again.
func (s *state) ttlExpired(m ttlExpired, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Ready || s.conn.lists[m.kind].fetches != m.fetches || s.conn.streams.reports(m.kind) {
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
