package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ConnectionLost says that a connection broke when a call may already have been written, and that the call can safely be sent
// again. The pool sends it on another connection, or the call fails with Fault.
type ConnectionLost struct {
	Backend kernel.Reference
	Call    CallRef
	Request *Request
	Fault   *protocol.Fault
	Reached float64 // highest progress reported to the client
}

func (ConnectionLost) Class() kernel.Class { return kernel.Outcome }

// Abandon answers a call whose pool is gone.
func (l ConnectionLost) Abandon(kernel.Reason) {
	l.Call.Holder.Tell(Failed{Seq: l.Call.Seq, Fault: l.Fault})
}

// Repeatable reports whether the server may execute the request twice without harm: its method has no side effects, or the
// called tool declares itself idempotent or read-only. The declaration counts only if the configuration trusts it; otherwise
// Definition is not set. Requests about tasks, and those that carry a server's state, are not repeatable.
func (r *Request) Repeatable() bool {
	switch {
	case r.AboutTask() || r.AsTask || r.Follow || r.Params.RequestState.Present():
		return false
	case r.Frame.Method != protocol.MethodToolsCall:
		return r.Frame.Method.Repeatable()
	}
	whole := rawjson.Span{End: uint32(len(r.Definition))}
	if whole.End == 0 {
		return false
	}
	annotations := rawjson.Member(r.Definition, whole, "annotations")
	for _, hint := range []string{"idempotentHint", "readOnlyHint"} {
		if string(rawjson.Member(r.Definition, annotations, hint).Of(r.Definition)) == "true" {
			return true
		}
	}
	return false
}
