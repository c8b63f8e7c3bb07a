package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// abandon fails a call that its receiver did not handle.
func abandon(call CallRef, request *Request, why kernel.Reason) {
	name := protocol.ServerUnavailable
	if why == kernel.Overloaded {
		name = protocol.QueueFull
	}
	call.Holder.Tell(Failed{Seq: call.Seq, Fault: &protocol.Fault{
		Name: name, Server: request.Server, Message: "the gateway did not accept the call: " + string(why), Retryable: true,
	}})
}

// OutcomeUnknown returns the fault of a call that its server may have executed. The message says whether it is safe to
// retry. It is safe for methods without side effects, and for tools that declare themselves idempotent or read-only, if the
// configuration trusts the declaration.
func OutcomeUnknown(request *Request, text string) *protocol.Fault {
	f := &protocol.Fault{Name: protocol.BackendDisconnected, Server: request.Server, Message: text}
	if f.Retryable = request.Frame.Method.Repeatable() || request.Repeatable(); f.Retryable {
		f.Message += "; it is safe to retry"
	} else {
		f.Message += "; it is unknown whether the call was executed, so it was not sent again; check the server's log before you retry"
	}
	return f
}
