package clientcalls

import (
	"fmt"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// abortFault answers the client of a call that an operator aborted. Immutable.
var abortFault = &protocol.Fault{Name: protocol.InternalFault, Message: "a gateway operator canceled the call"}

// faultOfCall returns a copy of fault for one call, with the name of its server. It is not retryable, as EndAll does not wait for the
// pool to confirm that the call was not sent.
func faultOfCall(fault *protocol.Fault, c *call.Call) *protocol.Fault {
	f := *fault
	f.Server, f.Retryable = c.Server, false
	return &f
}

// namingTool returns fault with the name of the called tool, if it has none yet. It copies the fault, which many calls may share.
func namingTool(fault *protocol.Fault, c *call.Call) *protocol.Fault {
	if fault.Tool != "" || c.Method != protocol.MethodToolsCall {
		return fault
	}
	f := *fault
	f.Tool = c.Item
	return &f
}

// RefuseQuestion answers a server request with an error, without asking the client.
func RefuseQuestion(m message.ServerRequest, code int, why string) kernel.Effect {
	err := fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, rawjson.Quote(why))
	return kernel.Tell(m.From, message.ServerRequestResult{Key: m.Key, Error: err})
}
