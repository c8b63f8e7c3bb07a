package message

import "goblin-actor/actors/kernel"

// Connect tells a backend that it is wanted.
type Connect struct{}

// Send asks a backend to write the request to its server.
type Send struct {
	Call    CallRef
	Request *Request
}

// Abandon answers a Send the backend never handled.
func (s Send) Abandon(why kernel.Why) { abandon(s.Call, s.Request, why) }

// Withdraw cancels a call the backend has written or is about to write.
type Withdraw struct {
	Call   CallRef
	Reason string
}

func (Withdraw) Class() kernel.Class { return kernel.Urgent }

// Drain: take no more calls, let the running ones finish, then stop.
type Drain struct{}

// Stop: answer everything pending and stop now.
type Stop struct{ Reason string }
