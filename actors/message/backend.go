package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

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

// Class: never refused, and never before its own Send.
func (Withdraw) Class() kernel.Class { return kernel.Outcome }

// Drain: take no more calls, let the running ones finish, then stop.
type Drain struct{}

// Stop: answer everything pending and stop now.
type Stop struct{ Reason string }

// Query asks a server something on the gateway's own behalf (subscribe, setLevel); the answer is one Queried to the pool.
type Query struct {
	Key    uint64
	Method protocol.Method
	Params []byte // raw JSON object
}

func (Query) Class() kernel.Class { return kernel.Outcome }
