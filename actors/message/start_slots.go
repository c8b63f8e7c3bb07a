package message

import "goblin-actor/actors/kernel"

// AwaitsTurn says to people what a backend does that wants to start and may not yet.
const AwaitsTurn = "waits for its turn to start (limits.startsAtOnce)"

// RequestConnect tells the pool that a backend would connect now. The answer is Connect, when the pool may start it.
type RequestConnect struct{ Backend kernel.Reference }

func (RequestConnect) Class() kernel.Class { return kernel.Outcome }

// RequestStartSlot asks the gateway for a turn to start a process; the answer is one StartSlotGranted. Who has asked already and is not there yet
// takes back nothing by asking again: only how much it is wanted changes.
type RequestStartSlot struct {
	Pool    kernel.Reference
	Number  int  // of the backend in its pool
	Order   int  // of the server in the configuration
	Wanted  bool // somebody waits for it
	Lost    bool // it was ready, and has not failed since
	Retries bool // it has failed before
}

func (RequestStartSlot) Class() kernel.Class { return kernel.Outcome }

// StartSlotGranted gives a backend its turn. It ends with ReleaseStartSlot, or by itself after a second.
type StartSlotGranted struct{ Number int }

func (StartSlotGranted) Class() kernel.Class { return kernel.Outcome }

// ReleaseStartSlot gives a turn back, or the wish for one: the backend is ready, has failed, or is no more.
type ReleaseStartSlot struct {
	Pool   kernel.Reference
	Number int
}

func (ReleaseStartSlot) Class() kernel.Class { return kernel.Outcome }

// StartSlotsReset says that the pool has begun anew: it knows of no turns and wishes of before.
type StartSlotsReset struct{ Pool kernel.Reference }

func (StartSlotsReset) Class() kernel.Class { return kernel.Outcome }
