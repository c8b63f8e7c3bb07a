// Package message holds the messages actors send each other, by receiver, and the neutral vocabulary
// that travels between a client's edge and a server's edge. Messages are values or pointers to values
// nobody writes to after sending.
package message

import (
	"cmp"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Caller is who asks, as far as routing, limits and the server's edge need to know. It is immutable: all requests of a session have the same one.
type Caller struct {
	Principal    string         // PrincipalOf who asks; "" = nobody was asked
	Epoch        uint64         // Admitted.Epoch of it
	ClientKey    string         // who is counted: session id (legacy); principal, else address, on this machine with the client's name (modern)
	View         catalog.Key    // what of the catalog it sees
	Version      string         // the protocol version the client speaks
	Capabilities []byte         // raw JSON of what the client declared; nil = nothing
	ClientInfo   []byte         // raw JSON of the client's Implementation; nil = unknown
	LogLevel     protocol.Level // modern: level this request asked for; LevelNone = none
	Can          CapabilitySet  // what Capabilities say about questions
	Extras       Extras         // legacy: what else Capabilities tell modern servers
}

// Line names in whose line a call waits where clients take turns: a principal waits in one, whatever the number of its sessions.
func (c *Caller) Line() string { return cmp.Or(c.Principal, c.ClientKey) }

// CallRef names a call: the actor that holds it and its number there.
type CallRef struct {
	Holder kernel.Reference // a session or a desk
	Seq    uint64           // never reused by that holder
}

// Compare orders calls, for what is done to many of them at once.
func (r CallRef) Compare(other CallRef) int {
	return cmp.Or(cmp.Compare(r.Seq, other.Seq), cmp.Compare(r.Holder.Name(), other.Holder.Name()))
}

// Request is one MCP request on its way to a server, the same for every era. It is immutable.
type Request struct {
	Frame    protocol.Frame  // the client's frame as it came
	Params   protocol.Params // spans of Frame.Raw
	Target   rawjson.Span    // the value inside Frame.Raw that names the item (params.name, params.uri, params.ref.…); absent = none
	Original []byte          // raw JSON string that replaces Target: the server's own name or URI
	Caller   *Caller         // never nil
	Server   string          // name of the server it goes to
	Replica  int             // the replica that has to carry it out, counted from 1; 0 = any
	Item     string          // tool, prompt or URI as the server calls it; for logs, errors and metrics

	// Modern says which era the frame is written in, and how questions come back. False: a legacy frame; every
	// question is an Ask. True: a frame with the modern _meta members; what a modern server answers with
	// input_required comes back as Done, and the holder relays it; a legacy server's question is an Ask all the same.
	Modern bool

	Tenant *Tenant // whose connections it uses; nil = those that are for everybody
	Prefer *Prefer // which replicas its client would rather have; nil = it does not say

	Rate        config.Rate // how many calls of the item one principal may make; zero = as many as it likes
	RateReports bool        // one too many is logged, and let through

	Definition []byte // of the tool that is called, as its server gave it, where it matters whether it may be called twice

	Unlisted bool // a resources/read of what the server does not list: only if it has mentioned it

	Follow bool        // a tools/call that we want done as a task by a legacy server, and its client answered with what comes of it
	AsTask bool        // legacy: a tools/call that the server is to do as a task (MCP 2025-11-25, basic/utilities/tasks)
	Home   *TaskOrigin // of the legacy task that it is about; nil = there is none
}

// CallMsg is what the holder of a call (session or desk) is told about it. Outcomes are always admitted.
type CallMsg interface{ callMsg() }

// RequestWritten says that the request has reached the server (process: write(2) took it; HTTP: the connection took its first byte).
type RequestWritten struct{ Seq uint64 }

// Progress carries the server's notifications/progress frame; the token in it is still the gateway's own.
type Progress struct {
	Seq   uint64
	Frame protocol.Frame
	Token rawjson.Span // params.progressToken, inside Frame.Raw

	Behind bool // a sign of life only: the client was told of more already
}

// Log carries a notifications/message frame that belongs to the call.
type Log struct {
	Seq   uint64
	Frame protocol.Frame
}

// ServerRequest is a question of the server (sampling, elicitation, roots) that belongs to the call.
// The holder answers it exactly once with Answer to From.
type ServerRequest struct {
	Seq   uint64
	Key   uint64 // the backend's number of this question
	From  kernel.Reference
	Frame protocol.Frame // the server's request, its own id inside
}

// ServerRequestCanceled says that the server no longer wants the answer to its question.
type ServerRequestCanceled struct {
	Seq uint64
	Key uint64
}

// ServerRequestResult answers an Ask. Exactly one of Result and Error is set, raw JSON.
type ServerRequestResult struct {
	Key           uint64
	Result, Error []byte
}

// Done is the server's answer, result or error, its id still the gateway's own. It ends the call.
type Done struct {
	Seq   uint64
	Frame protocol.Frame
}

// Failed is the gateway's own answer instead of the server's. It ends the call.
type Failed struct {
	Seq   uint64
	Fault *protocol.Fault
}

func (RequestWritten) callMsg()        {}
func (Progress) callMsg()              {}
func (Log) callMsg()                   {}
func (ServerRequest) callMsg()         {}
func (ServerRequestCanceled) callMsg() {}
func (Done) callMsg()                  {}
func (Failed) callMsg()                {}

func (RequestWritten) Class() kernel.Class        { return kernel.Outcome }
func (ServerRequest) Class() kernel.Class         { return kernel.Outcome }
func (ServerRequestResult) Class() kernel.Class   { return kernel.Outcome }
func (ServerRequestCanceled) Class() kernel.Class { return kernel.Outcome }
func (Done) Class() kernel.Class                  { return kernel.Outcome }
func (Failed) Class() kernel.Class                { return kernel.Outcome }

// Class: a server can say more of a call than anybody can hand on. Of its progress the newest counts, of its log lines
// as many as there is room for.
func (p Progress) Class() kernel.Class {
	if p.Behind {
		return kernel.State
	}
	return kernel.Step
}

// Key: a sign of life never takes the place of a step that the client is to see.
func (p Progress) Key() any { return progressKey{p.Seq, p.Behind} }

// Size is what it holds.
func (p Progress) Size() int { return len(p.Frame.Raw) }

type progressKey struct {
	seq    uint64
	behind bool
}

func (Log) Class() kernel.Class { return kernel.LogLine }

// Size is what it holds.
func (l Log) Size() int { return len(l.Frame.Raw) }
