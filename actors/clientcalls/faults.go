package clientcalls

import (
	"fmt"

	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// abortFault is what the client of an aborted call is told. Nobody writes to it.
var abortFault = &protocol.Fault{Name: protocol.InternalFault, Message: "an operator of the gateway cancelled the call"}

// faultOfCall is fault for one call: it names the server. Whoever ends with the call cannot wait for the word that nothing
// was sent, so it says nothing of that kind: bytes leave before anybody is told.
func faultOfCall(fault *protocol.Fault, c *call.Call) *protocol.Fault {
	f := *fault
	f.Server, f.Retryable = c.Server, false
	return &f
}

// namingTool is fault with the name of the tool that was called, if it has none yet. Many calls share a fault, so that one stays
// as it is.
func namingTool(fault *protocol.Fault, c *call.Call) *protocol.Fault {
	if fault.Tool != "" || c.Method != protocol.MethodToolsCall {
		return fault
	}
	f := *fault
	f.Tool = c.Item
	return &f
}

// RefuseQuestion answers a question with an error instead of asking.
func RefuseQuestion(m message.ServerRequest, code int, why string) kernel.Effect {
	err := fmt.Appendf(nil, `{"code":%d,"message":%s}`, code, rawjson.Quote(why))
	return kernel.Tell(m.From, message.ServerRequestResult{Key: m.Key, Error: err})
}
