package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// Connect allows a backend to connect, after its RequestConnect.
type Connect struct{}

func (Connect) Class() kernel.Class { return kernel.Outcome }

// Send asks a backend to write the request to its server.
type Send struct {
	Call    CallRef
	Request *Request
	Pool    kernel.Reference
	Backend kernel.Reference
	Reached float64 // the highest progress reported to its client when it was sent before; 0 = none
}

// Abandon returns a Send that the backend never handled to the pool, which may try another backend. If the backend
// panicked while handling it, the request may have been written.
func (s Send) Abandon(why kernel.Reason) {
	if why == kernel.Panicked {
		abandon(s.Call, s.Request, why)
		s.Pool.Tell(CallEnded{Backend: s.Backend, Call: s.Call})
		return
	}
	s.Pool.Tell(NotExecuted{Backend: s.Backend, Call: s.Call, Request: s.Request, Reason: "it took no more: " + string(why), Full: why == kernel.Overloaded})
}

// CancelSent cancels a call that the backend has written or is about to write.
type CancelSent struct {
	Call   CallRef
	Reason string
}

// Class: a CancelSent is never refused, and never overtakes its own Send.
func (CancelSent) Class() kernel.Class { return kernel.Outcome }

// Drain tells a backend to take no more calls, let the running ones finish, and stop.
type Drain struct{}

// Stop tells a backend to answer everything pending and stop now.
type Stop struct{ Reason string }

// QueryIdle asks a backend whether it is idle. The answer is BackendIdle, or none while a task runs.
type QueryIdle struct{}

func (QueryIdle) Class() kernel.Class { return kernel.State }

// CheckConnection tells a backend that another connection to the same URL was lost. A connection without traffic
// would not notice.
type CheckConnection struct{}

func (CheckConnection) Class() kernel.Class { return kernel.State }

// Query sends a server a request on behalf of the gateway (subscribe, setLevel). The answer is one QueryResult to
// the pool.
type Query struct {
	Key    uint64
	Method protocol.Method
	Params []byte // raw JSON object
}

func (Query) Class() kernel.Class { return kernel.Outcome }
