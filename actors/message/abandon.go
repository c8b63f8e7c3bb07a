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
