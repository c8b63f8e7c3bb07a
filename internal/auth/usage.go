package auth

import "sync/atomic"

// usage is what a principal has under way. Streams are counted apart: thousands of idle ones of a client shall not take the room of
// its calls, nor be without limit.
type usage struct {
	calls, streams atomic.Int64
	told           atomic.Int64 // unix second in which a refusal was last told of
}

// lease takes one; nil: there are as many already. most 0 = no limit.
func lease[L callLease | streamLease](of *L, count *atomic.Int64, most int) *L {
	if count.Add(1) > int64(most) && most > 0 {
		count.Add(-1)
		return nil
	}
	return of
}

type callLease usage

// Release gives the call back.
func (l *callLease) Release() { l.calls.Add(-1) }

type streamLease usage

// Release gives the stream back.
func (l *streamLease) Release() { l.streams.Add(-1) }
