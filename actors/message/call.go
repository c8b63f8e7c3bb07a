// Package message holds the messages that actors receive, by receiver, and the types that the clients' side and the
// servers' side of the gateway share. Messages are values, or pointers to values that are not modified after
// sending.
package message

import (
	"cmp"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Caller holds what routing, limits and translation need to know about the client of a request. It is immutable. All
// requests of a session share one.
type Caller struct {
	Principal    string         // PrincipalOf the client's principal; "" = not authenticated
	Epoch        uint64         // Admitted.Epoch of Principal
	ClientKey    string         // identifies the client for limits. Legacy: session id. Modern: principal, else address (on loopback with clientInfo)
	View         catalog.Key    // the part of the catalog that the client sees
	Version      string         // the protocol version the client speaks
	Capabilities []byte         // raw JSON of what the client declared; nil = nothing
	ClientInfo   []byte         // raw JSON of the client's Implementation; nil = unknown
	LogLevel     protocol.Level // modern: level this request asked for; LevelNone = none
	Can          CapabilitySet  // server requests that the client can answer, derived from Capabilities
	Hop          bool           // another node of the cluster sends the request for the client
	Extras       Extras         // legacy: the client's other capabilities, declared to modern servers
}

// QueueKey returns the key of the client's queue, wherever clients take turns. A principal has one queue for all
// sessions.
func (c *Caller) QueueKey() string { return cmp.Or(c.Principal, c.ClientKey) }

// CallRef identifies a call by the actor that holds it and the call's number there.
type CallRef struct {
	Holder kernel.Reference // a session or a stateless session
	Seq    uint64           // never reused by that holder
}

// Compare orders calls by number, then by holder.
func (r CallRef) Compare(other CallRef) int {
	return cmp.Or(cmp.Compare(r.Seq, other.Seq), cmp.Compare(r.Holder.Name(), other.Holder.Name()))
}

// Request is one MCP request on its way to a server, the same for both eras. It is immutable once sent.
type Request struct {
	Frame    protocol.Frame  // the client's frame as received
	Params   protocol.Params // spans of Frame.Raw
	Target   rawjson.Span    // the value inside Frame.Raw that names the item (params.name, params.uri, params.ref.…); absent = none
	Original []byte          // raw JSON string that replaces Target: the server's own name or URI
	Caller   *Caller         // never nil
	Server   string          // name of the server it goes to
	Replica  int             // the replica that has to execute it, counted from 1; 0 = any
	Named    string          // what replaces Target, if the replica runs on another node: Item with the replica's number there; "" = this node runs it
	Item     string          // tool, prompt or URI as the server calls it; for logs, errors and metrics

	// Modern says in which era the frame is written, and how server requests come back. In a legacy frame, every server request
	// becomes a ServerRequest. A modern frame has the modern _meta members: a modern server's input_required result comes back
	// as Done and the holder relays it, while a legacy server's request still becomes a ServerRequest.
	Modern bool

	Tenant *Tenant // whose connections it uses; nil = the shared ones
	Prefer *Prefer // the replicas that the client prefers; nil = no preference

	Rate        config.Rate // limit of one principal's calls of the item; zero = none
	RateReports bool        // a call above Rate is logged and not refused

	Definition []byte // the called tool's definition as its server gave it; set only if a retry depends on it

	Unlisted bool // a resources/read of a URI that the server does not list: valid only if the server has mentioned it

	Follow bool           // a tools/call that a legacy server runs as a task, while the client gets the task's final result
	AsTask bool           // legacy: a tools/call that the client wants run as a task (MCP 2025-11-25, basic/utilities/tasks)
	Trace  *trace.Request // nil = the request is not sampled
	Home   *TaskOrigin    // origin of the legacy task that the request is about; nil = none
}

// CallMsg is a message about a call to its holder, a session or a stateless session. Outcomes are always accepted.
type CallMsg interface{ callMsg() }

// RequestWritten says that the request has reached the server (process: write(2) accepted it; HTTP: the connection accepted its
// first byte).
type RequestWritten struct {
	Seq   uint64
	Taken time.Time     // when the call left the pool's queue
	Route *status.Route // the connection; nil = the gateway itself executes the call
}

// Progress carries the server's notifications/progress frame, with the gateway's own progress token.
type Progress struct {
	Seq   uint64
	Frame protocol.Frame
	Token rawjson.Span // params.progressToken, inside Frame.Raw

	Behind bool // the message only resets the idle timeout, for example because the client already received higher progress
}

// Log carries a notifications/message frame that belongs to the call.
type Log struct {
	Seq   uint64
	Frame protocol.Frame
}

// ServerRequest is a server's request to the client (sampling, elicitation, roots) that belongs to the call. The holder answers
// it with one ServerRequestResult to From, unless the request is canceled or the call ends first.
type ServerRequest struct {
	Seq   uint64
	Key   uint64 // number that the sender gave this request
	From  kernel.Reference
	Frame protocol.Frame // the server's request, with the server's id
}

// ServerRequestCanceled says that the server no longer wants the answer to its request.
type ServerRequestCanceled struct {
	Seq uint64
	Key uint64
}

// ServerRequestResult answers a ServerRequest. Exactly one of Result and Error is set, raw JSON.
type ServerRequestResult struct {
	Key           uint64
	Result, Error []byte
}

// Done carries the server's response, a result or an error, with the gateway's own id. It ends the call.
type Done struct {
	Seq   uint64
	Frame protocol.Frame
	At    time.Time // when the response arrived; zero = now
}

// Failed carries a gateway error in place of the server's response. It ends the call.
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

// Class is Step for a report to the client, and State for one that only resets the idle timeout. A server can report more
// progress than a client can receive, so newer reports may replace queued ones.
func (p Progress) Class() kernel.Class {
	if p.Behind {
		return kernel.State
	}
	return kernel.Step
}

// Key separates reports for the client from those that only reset the idle timeout.
func (p Progress) Key() any { return progressKey{p.Seq, p.Behind} }

// Size returns the size of the frame in bytes.
func (p Progress) Size() int { return len(p.Frame.Raw) }

type progressKey struct {
	seq    uint64
	behind bool
}

func (Log) Class() kernel.Class { return kernel.LogLine }

// Size returns the size of the frame in bytes.
func (l Log) Size() int { return len(l.Frame.Raw) }
