package clientcalls

import (
	"encoding/json"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// codeURLRequired is the code of a server's error that asks the user to open a page, often to log in. MCP 2025-11-25,
// client/elicitation.
const codeURLRequired = -32042

// maxPayloadItem is the maximum length of the name or URI of an item in bytes.
const maxPayloadItem = 1024

// KeepPayloads sets the gate that says which calls' payloads are kept. The holder does this once, before its first call.
func (c *Calls[H, K, R]) KeepPayloads(gate *message.PayloadGate) { c.gate = gate }

// keepRequest sends a copy of a call's parameters to the actor that keeps them.
func (c *Calls[H, K, R]) keepRequest(now time.Time, b *Held, f *protocol.Frame) kernel.Effect {
	p := message.CallPayload{Call: c.holder.CallName(b.Seq), Method: b.Method.String(), Item: status.Printable(b.Item, maxPayloadItem), Began: now, Request: message.RawPayloadOf(f.Params.Of(f.Raw))}
	return kernel.Tell(b.keeping.Keeper, message.PayloadBegan{Keeping: b.keeping, Payload: p})
}

// keepAnswer sends a copy of the server's result or error.
func (c *Calls[H, K, R]) keepAnswer(now time.Time, b *Held, f *protocol.Frame) kernel.Effect {
	span := f.Result
	if f.Kind == protocol.KindError {
		span = f.Error
	}
	return c.keepEnd(b, message.PayloadEnded{At: now, Answer: message.RawPayloadOf(span.Of(f.Raw)), Withheld: asksClient(f)})
}

// keepFault sends a gateway error.
func (c *Calls[H, K, R]) keepFault(now time.Time, b *Held, fault *protocol.Fault) kernel.Effect {
	text, _ := json.Marshal(map[string]string{"code": string(fault.Name), "message": fault.Error()}) // cannot fail
	return c.keepEnd(b, message.PayloadEnded{At: now, Answer: message.RawPayloadOf(text), Withheld: fault.Name == protocol.NeedsLogin || fault.LoginURL != ""})
}

// keepEnd sends the end of a call. It discards the text of an answer that is withheld, and that of a task, which may be the result of any
// tool.
func (c *Calls[H, K, R]) keepEnd(b *Held, e message.PayloadEnded) kernel.Effect {
	if e.Keeping, e.Call = b.keeping, c.holder.CallName(b.Seq); e.Withheld || b.Method.Names() == protocol.SubjectTask {
		e.Answer.Text = nil
	}
	return kernel.Tell(b.keeping.Keeper, e)
}

// asksClient reports whether an answer asks the client for input, or its user to open a page. Both can be part of a login.
func asksClient(f *protocol.Frame) bool {
	if f.Kind == protocol.KindError {
		code, _ := protocol.ErrorNumber(f)
		return code == codeURLRequired
	}
	return rawjson.Member(f.Raw, f.Result, "inputRequests").Present()
}
