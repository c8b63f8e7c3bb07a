package message

import "goblin-actor/actors/kernel"

// AwaitsTurn tells operators what a backend without a start slot is waiting for.
const AwaitsTurn = "waiting for other servers to start (limits.startsAtOnce)"

// RequestConnect tells the pool that a backend wants to connect. The pool answers with Connect once it may.
type RequestConnect struct{ Backend kernel.Reference }

func (RequestConnect) Class() kernel.Class { return kernel.Outcome }

// RequestStartSlot asks the gateway for permission to start a process. The answer is one StartSlotGranted. A
// repeated request only changes the priority.
type RequestStartSlot struct {
	Pool    kernel.Reference
	Number  int  // of the backend in its pool
	Order   int  // of the server in the configuration
	Wanted  bool // a client waits for the server
	Lost    bool // the backend was ready before and has not failed since
	Retries bool // the backend has failed before
}

func (RequestStartSlot) Class() kernel.Class { return kernel.Outcome }

// StartSlotGranted lets a backend start. The slot ends with ReleaseStartSlot, or after a second.
type StartSlotGranted struct{ Number int }

func (StartSlotGranted) Class() kernel.Class { return kernel.Outcome }

// ReleaseStartSlot returns a slot, or withdraws the request for one: the backend is ready, has failed, or is gone.
type ReleaseStartSlot struct {
	Pool   kernel.Reference
	Number int
}

func (ReleaseStartSlot) Class() kernel.Class { return kernel.Outcome }

// StartSlotsReset says that the pool has restarted and holds no slots or requests.
type StartSlotsReset struct{ Pool kernel.Reference }

func (StartSlotsReset) Class() kernel.Class { return kernel.Outcome }
