package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// Connect tells a backend that it may connect now; it has asked by RequestConnect.
type Connect struct{}

func (Connect) Class() kernel.Class { return kernel.Outcome }

// Send asks a backend to write the request to its server.
type Send struct {
	Call    CallRef
	Request *Request
	Pool    kernel.Reference
	Backend kernel.Reference
	Reached float64 // the highest progress its client was told when it was sent before; 0 = it was not, or none
}

// Abandon gives a Send that the backend never handled back to the pool, which counts it and may try another. One that the
// backend has failed in the middle of may have been written.
func (s Send) Abandon(why kernel.Reason) {
	if why == kernel.Panicked {
		abandon(s.Call, s.Request, why)
		s.Pool.Tell(CallEnded{Backend: s.Backend, Call: s.Call})
		return
	}
	s.Pool.Tell(NotExecuted{Backend: s.Backend, Call: s.Call, Request: s.Request, Reason: "it took no more: " + string(why), Full: why == kernel.Overloaded})
}

// CancelSent cancels a call the backend has written or is about to write.
type CancelSent struct {
	Call   CallRef
	Reason string
}

// Class: never refused, and never before its own Send.
func (CancelSent) Class() kernel.Class { return kernel.Outcome }

// Drain says to take no more calls, to let the running ones finish, and then to stop.
type Drain struct{}

// Stop says to answer everything pending and to stop now.
type Stop struct{ Reason string }

// QueryIdle asks a backend whether it has anything to do yet. The answer is BackendIdle, or nothing while a task runs.
type QueryIdle struct{}

func (QueryIdle) Class() kernel.Class { return kernel.State }

// CheckConnection tells a backend that another connection to the same URL was lost. One that carries nothing would not notice.
type CheckConnection struct{}

func (CheckConnection) Class() kernel.Class { return kernel.State }

// Query asks a server something on the gateway's own behalf (subscribe, setLevel); the answer is one QueryResult to the pool.
type Query struct {
	Key    uint64
	Method protocol.Method
	Params []byte // raw JSON object
}

func (Query) Class() kernel.Class { return kernel.Outcome }
