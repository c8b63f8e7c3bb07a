package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// ConnectionLost says that a connection broke after a call may have been written to it, and that the server may be sent the call once more: the
// pool finds it another connection, or its holder is told the fault.
type ConnectionLost struct {
	Backend kernel.Reference
	Call    CallRef
	Request *Request
	Fault   *protocol.Fault
	Reached float64 // the highest progress its client was told
}

func (ConnectionLost) Class() kernel.Class { return kernel.Outcome }

// Abandon answers a call whose pool has gone meanwhile.
func (l ConnectionLost) Abandon(kernel.Reason) {
	l.Call.Holder.Tell(Failed{Seq: l.Call.Seq, Fault: l.Fault})
}

// Repeatable reports whether its server may carry the request out twice as well as once: it only asks, or the tool says so, which is
// looked at only where the configuration believes it. What belongs to a task, or brings back what a server has asked before, is no
// request of its own.
func (r *Request) Repeatable() bool {
	switch {
	case r.AboutTask() || r.AsTask || r.Follow || r.Params.RequestState.Present():
		return false
	case r.Frame.M != protocol.MethodToolsCall:
		return r.Frame.M.Repeatable()
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
