package message

import "goblin-actor/actors/kernel"

// AwaitsTurn says to people what a backend does that wants to start and may not yet.
const AwaitsTurn = "waits for its turn to start (limits.startsAtOnce)"

// WantStart tells the pool that a backend would connect now. The answer is Connect, when the pool may start it.
type WantStart struct{ Backend kernel.Reference }

func (WantStart) Class() kernel.Class { return kernel.Outcome }

// AskStart asks the gateway for a turn to start a process; the answer is one MayStart. Who has asked already and is not there yet
// takes back nothing by asking again: only how much it is wanted changes.
type AskStart struct {
	Pool    kernel.Reference
	Number  int  // of the backend in its pool
	Order   int  // of the server in the configuration
	Wanted  bool // somebody waits for it
	Lost    bool // it was ready, and has not failed since
	Retries bool // it has failed before
}

func (AskStart) Class() kernel.Class { return kernel.Outcome }

// MayStart gives a backend its turn. It ends with StartOver, or by itself after a second.
type MayStart struct{ Number int }

func (MayStart) Class() kernel.Class { return kernel.Outcome }

// StartOver gives a turn back, or the wish for one: the backend is ready, has failed, or is no more.
type StartOver struct {
	Pool   kernel.Reference
	Number int
}

func (StartOver) Class() kernel.Class { return kernel.Outcome }

// StartsForgotten says that the pool has begun anew: it knows of no turns and wishes of before.
type StartsForgotten struct{ Pool kernel.Reference }

func (StartsForgotten) Class() kernel.Class { return kernel.Outcome }
