package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// Connect permits a backend to connect. It answers RequestConnect.
type Connect struct{}

func (Connect) Class() kernel.Class { return kernel.Outcome }

// Send tells a backend to write the request to its server.
type Send struct {
	Call    CallRef
	Request *Request
	Pool    kernel.Reference
	Backend kernel.Reference
	Reached float64   // highest progress reported to the client during an earlier attempt; 0 = none
	Taken   time.Time // when the call left the queue
}

// Abandon returns a Send that the backend never handled to the pool, which may try another backend. If the backend
// panicked while handling it, the request may have been written, so it is not tried again and the call fails.
func (s Send) Abandon(why kernel.Reason) {
	if why == kernel.Panicked {
		s.Call.Holder.Tell(Failed{Seq: s.Call.Seq, Fault: OutcomeUnknown(s.Request, "the gateway had an internal error while it sent the call")})
		s.Pool.Tell(CallEnded{Backend: s.Backend, Call: s.Call})
		return
	}
	s.Pool.Tell(NotExecuted{Backend: s.Backend, Call: s.Call, Request: s.Request, Reason: "the connection accepted no more calls: " + string(why), Full: why == kernel.Overloaded})
}

// CancelSent cancels a call that the backend has written or is about to write.
type CancelSent struct {
	Call   CallRef
	Reason string
}

// Class is Outcome: a CancelSent is never refused, and never overtakes its own Send.
func (CancelSent) Class() kernel.Class { return kernel.Outcome }

// Drain tells a backend to accept no more calls, let the running ones finish, and stop.
type Drain struct{}

// Stop tells a backend to answer all pending calls and stop at once.
type Stop struct{ Reason string }

// QueryIdle asks a backend whether it is idle. An idle backend answers with BackendIdle. A backend that is not idle
// does not answer.
type QueryIdle struct{}

func (QueryIdle) Class() kernel.Class { return kernel.State }

// CheckConnection tells a backend to check its connection, since another connection to the same replica was lost.
// Without traffic the backend would not notice a loss.
type CheckConnection struct{}

func (CheckConnection) Class() kernel.Class { return kernel.State }

// Query makes a backend send a request to its server on behalf of the pool (resources/subscribe, resources/unsubscribe).
// The answer is one QueryResult to the pool.
type Query struct {
	Key    uint64
	Method protocol.Method
	Params []byte // raw JSON object
}

func (Query) Class() kernel.Class { return kernel.Outcome }
