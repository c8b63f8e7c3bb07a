package bus

import (
	"sync"
	"time"
)

// Limits of the log. Clients that are not nodes can make a server report errors as fast as they connect.
const (
	sameAgain = time.Minute // between two messages of one kind
	maxKinds  = 128         // kinds with a limit of their own; all further kinds share one
)

// repeated decides which messages are logged: of each kind at most one a minute.
type repeated struct {
	mu   sync.Mutex
	last map[string]*lastMessage // by kind
}

type lastMessage struct {
	at      time.Time
	skipped int // messages since then
}

// admit reports whether a message of that kind may be logged now, and how many were skipped before it.
func (r *repeated) admit(kind string, now time.Time) (skipped int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[kind]
	if last == nil && len(r.last) >= maxKinds {
		kind = ""
		last = r.last[kind]
	}
	if last == nil {
		last = &lastMessage{}
		if r.last == nil {
			r.last = map[string]*lastMessage{}
		}
		r.last[kind] = last
	}
	if !last.at.IsZero() && now.Sub(last.at) < sameAgain {
		last.skipped++
		return 0, false
	}
	skipped = last.skipped
	last.at, last.skipped = now, 0
	return skipped, true
}
