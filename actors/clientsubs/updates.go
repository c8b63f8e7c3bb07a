package clientsubs

import (
	"time"

	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// updates counts the updates of a subscription. Only the shell of the client's actor uses it, because only the shell knows whether a
// message was sent. Most subscriptions have none.
type updates struct {
	told   uint64 // notifications sent to the client
	merged uint64 // updates that a newer one has replaced while they waited for the client

	last        time.Time // when the client was last notified
	now, before uint32    // notifications in the minute of last, and in the minute before
}

// Count counts an update that was sent to the client.
func (s *Subscription) Count(at time.Time, done downstream.Queued) {
	switch {
	case done.Over:
	case done.Merged:
		s.Merged()
	default:
		s.counted().tell(at)
	}
}

// Merged counts an update that a newer one has replaced.
func (s *Subscription) Merged() { s.counted().merged++ }

func (s *Subscription) counted() *updates {
	if s.updates == nil {
		s.updates = &updates{}
	}
	return s.updates
}

func (u *updates) tell(at time.Time) {
	switch at.Unix()/60 - u.last.Unix()/60 {
	case 0:
	case 1:
		u.now, u.before = 0, u.now
	default:
		u.now, u.before = 0, 0
	}
	u.told++
	u.now++
	u.last = at
}

// report adds the counts to a subscription in the status. u may be nil.
func (u *updates) report(to *status.Subscription) {
	if u == nil {
		return
	}
	to.Told, to.Merged, to.Last = u.told, u.merged, u.last
	left := 60 - u.last.Unix()%60 // seconds of the minute before that are within a minute before last
	to.LastMinute = uint64(u.now) + uint64(u.before)*uint64(left)/60
}
