package auth

import (
	"sync/atomic"

	"goblin-actor/internal/identity"
)

// usage counts a principal's open requests. Streams are counted separately: thousands of idle streams of a client
// must neither use up its limit for calls nor be unlimited.
type usage struct {
	calls, streams atomic.Int64
	lastLogged     atomic.Int64 // Unix second of the last logged refusal
	counts         identity.Usage
}

// lease increments count and returns `of` as a lease. If count has already reached most, it leaves count unchanged and
// returns nil. If most is 0, there is no limit.
func lease[L callLease | streamLease](of *L, count *atomic.Int64, most int) *L {
	if count.Add(1) > int64(most) && most > 0 {
		count.Add(-1)
		return nil
	}
	return of
}

type callLease usage

// Release ends the call.
func (l *callLease) Release() { l.calls.Add(-1) }

type streamLease usage

// Release ends the stream.
func (l *streamLease) Release() { l.streams.Add(-1) }
