package kernel

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Scheduler runs a System in a simulated world. It decides which actor handles its next message and when timers fire, so
// that the same decisions give the same run. One goroutine must call all functions passed to Schedule and Timer, one at a time.
type Scheduler interface {
	// Schedule arranges a call of run, which handles one message of the actor with that full name. Schedule may be called
	// from any goroutine.
	Schedule(actor string, run func())
	// Timer arranges a call of ring after d, for the actor with that full name.
	Timer(actor string, d time.Duration, ring func())
	// Go arranges a call of run on a new goroutine, after the function that called Go has returned.
	Go(run func())
}

// simulated is the dispatcher of a simulated system, or of one actor in it. It implements actor.Dispatcher.
type simulated struct {
	scheduler Scheduler
	name      string // of the actor
}

func (f simulated) Schedule(run func()) { f.scheduler.Schedule(f.name, run) }
func (simulated) Throughput() int       { return 1 }

// dispatcherOf returns the dispatcher of the system's mailboxes.
func (s *System) dispatcherOf() actor.Dispatcher {
	if s.scheduler != nil {
		return simulated{scheduler: s.scheduler}
	}
	return s.pool
}

// after is time.AfterFunc in the system's time, for a timer of the actor with that full name.
func (s *System) after(actor string, d time.Duration, ring func()) {
	if s.scheduler != nil {
		s.scheduler.Timer(actor, d, ring)
		return
	}
	time.AfterFunc(d, ring)
}

// start calls run on a new goroutine.
func (s *System) start(run func()) {
	if s.scheduler != nil {
		s.scheduler.Go(run)
		return
	}
	go run()
}

// afterStep calls run. In a simulated system, run is called after the current step. If run woke another goroutine during
// the step, Go's scheduler would decide which of the two goroutines schedules an actor first.
func (s *System) afterStep(run func()) {
	if s.scheduler != nil {
		s.scheduler.Go(run)
		return
	}
	run()
}
