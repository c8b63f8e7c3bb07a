package kernel

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Fate runs a System in a simulated world: it decides which actor handles its next message and when a timer is due, so
// that the same choices give the same run. Everything it is given must be called, by one goroutine, one at a time.
type Fate interface {
	// Schedule has run called later: each call handles one message of the actor of that full name. It may be called by any goroutine.
	Schedule(actor string, run func())
	// After has ring called once d has passed.
	After(d time.Duration, ring func())
}

// fated is the dispatcher of a simulated world, or of one actor in it. It implements actor.Dispatcher.
type fated struct {
	fate Fate
	name string // of the actor
}

func (f fated) Schedule(run func()) { f.fate.Schedule(f.name, run) }
func (fated) Throughput() int       { return 1 }

// dispatcherOf is what runs the mailboxes of a system.
func (s *System) dispatcherOf() actor.Dispatcher {
	if s.fate != nil {
		return fated{fate: s.fate}
	}
	return s.pool
}

// after is time.AfterFunc of the world the system lives in.
func (s *System) after(d time.Duration, ring func()) {
	if s.fate != nil {
		s.fate.After(d, ring)
		return
	}
	time.AfterFunc(d, ring)
}
