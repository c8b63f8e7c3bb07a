package downstream

import (
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Handler is who answers what clients send. Its methods are called from connection goroutines and must return quickly;
// answers go through the Exchange or EventStream, from any goroutine.
type Handler interface {
	// Post: a client sent a message (one HTTP POST, or one line on stdio).
	Post(x *Exchange)
	// Open: a client opened a stream for messages that belong to no request (GET with Accept: text/event-stream).
	// The Handler calls stream.Accept or stream.Refuse.
	Open(stream *EventStream)
	// Delete: a client ends its session. Answered with x.Accept or x.Refuse.
	Delete(x *Exchange)
}

// Origin is what the transport knows of where a message came from. Strings are copies; they may be kept.
type Origin struct {
	Stdio        bool                // it came on stdin, where there are no headers: no path, no session, no version
	Path         string              // "/mcp", "/p/alpha/mcp", "/s/files/mcp"; "" on stdio
	SessionID    string              // Mcp-Session-Id; "" = none
	Version      string              // MCP-Protocol-Version; "" = none
	Project      string              // Goblin-Project; "" = none, or it is empty
	EmptyProject bool                // Goblin-Project is there, and empty
	Remote       string              // host:port of the peer; "stdio"
	Who          *identity.Principal // who asks, as Options.Admission has found out; nil = identity.Local
	LastEvent    string              // Last-Event-ID (GET); "" = none
	JSONOnly     bool                // the client does not accept text/event-stream; never set where Redirect is meant to be called
	Kept         http.Header         // headers that servers are to be sent (Server.Keep); nil = none
	Header       http.Header         // Mcp-* headers of a request of 2026-07-28 and later; else nil
}

// HostOf is a peer's address, Origin.Remote, without its port.
func HostOf(remote string) string {
	if i := strings.LastIndexByte(remote, ':'); i >= 0 {
		return remote[:i]
	}
	return remote
}

// Repeated returns what reads the headers that repeat what a modern message says, for protocol.EraOf and its checks; nil
// on stdio.
func (o *Origin) Repeated() func(name string) string {
	if o.Stdio {
		return nil
	}
	return func(name string) string {
		if name == protocol.HeaderVersion {
			return o.Version
		}
		return o.Header.Get(name)
	}
}

// Exchange is one message of a client and the way back to it. Methods may be called from any goroutine and never block.
//
//	x.Answer(frame)       the one final answer: ends the exchange; AnswerPieces likewise
//	x.Notify(…)           a message before the answer: turns the HTTP answer into SSE
//	x.Accept()            202 without body: notifications and responses
//	x.Refuse(status, …)   an HTTP error
//
// Exactly one of Answer, Accept, Refuse takes effect; later ones are ignored. When the client has left, writes are dropped.
type Exchange struct {
	Frame  protocol.Frame
	Params protocol.Params // scanned already
	Batch  []byte          // raw array instead of Frame when the body is a batch (2025-03-26)
	Origin Origin
	Began  time.Time
	Inner  bool // it is what a call of one of the gateway's own tools asks for: the client has sent no headers about it

	port port // unexported: HTTP or stdio
}

// Weight says what may happen to a message while its reader is slow.
type Weight uint8

// What a slow reader may miss, and what not.
const (
	WeightAnswer   Weight = iota // never dropped
	WeightState                  // a waiting one with the same key is replaced by the newer
	WeightLog                    // the oldest of them is dropped when too many wait; counted
	WeightProgress               // like WeightState, but of 32 that wait only the newest is replaced: who reads in time sees every step
)

// port is where an exchange's messages go.
type port interface {
	answer(msg protocol.Message)
	answers(parts []protocol.Message) // of a batch
	notify(msg protocol.Message, weight Weight, key string)
	accept()
	refuse(status int, body []byte, retryAfter time.Duration)
	setSession(id string)
	onGone(func())
	resumable(*Replay)
	takeBody() body
	budget() *stream.Budget
}

// Answer sends the final answer.
func (x *Exchange) Answer(msg protocol.Message) { x.port.answer(msg) }

// AnswerPieces is Answer for a frame in pieces that belong together: they are written one after the other where they
// are, unless somebody needs them as one. memory, if not nil, is what they lie in: the caller gives it away, and it is
// used again when they are written.
func (x *Exchange) AnswerPieces(pieces [][]byte, newline bool, memory *protocol.Memory) {
	if h, ok := x.port.(*httpExchange); ok {
		h.answerPieces(pieces, newline, memory)
		return
	}
	frame := slices.Concat(pieces...)
	memory.Free()
	x.port.answer(protocol.Message{Frame: frame, Newline: newline})
}

// Notify sends a message ahead of the answer. key matters for WeightState and WeightProgress only.
// A client that accepts JSON only never sees it.
func (x *Exchange) Notify(msg protocol.Message, weight Weight, key string) {
	x.port.notify(msg, weight, key)
}

// Accept says 202 without a body; to a Delete, 204.
func (x *Exchange) Accept() { x.port.accept() }

// Refuse answers with an HTTP status and a JSON body (may be nil). retryAfter > 0 sets Retry-After.
// On stdio the body, when there is one, is written as a line.
func (x *Exchange) Refuse(status int, body []byte, retryAfter time.Duration) {
	x.port.refuse(status, body, retryAfter)
}

// SetSession names the session in the answer's Mcp-Session-Id header, unless it is refused; call it before Answer. A
// no-op on stdio.
func (x *Exchange) SetSession(id string) { x.port.setSession(id) }

// OnGone has f called once, from a transport goroutine, if the client leaves before the answer was written.
// An exchange that is Resumable outlives its connection; f is called only if that was lost before a stream was opened.
func (x *Exchange) OnGone(f func()) { x.port.onGone(f) }

// Resumable has the exchange outlive its connection once its answer has turned into a stream: what is said later is
// kept in r for a client that comes back. Call it when the exchange arrives; a no-op on stdio.
func (x *Exchange) Resumable(r *Replay) { x.port.resumable(r) }

// EventStream is a client's open stream for messages that belong to no request (GET; stdout on stdio; later: SSE, listen).
// It is a bounded queue with the weights' rules in front of the connection; Push never blocks.
type EventStream struct {
	Origin Origin

	out outbox // unexported
}

// outbox is the bounded queue between an actor and a slow reader.
type outbox interface {
	accept()
	refuse(status int, body []byte, retryAfter time.Duration)
	push(msg protocol.Message, weight Weight, key outboxKey) bool
	close()
	onGone(func())
	endpoint(uri string)
	resumable(*Replay)
	resume(r *Replay, lastEvent string) Resumed
	Crowded() bool
}

// Accept opens the stream: status 200, headers, a first comment.
func (s *EventStream) Accept() { s.out.accept() }

// AcceptEndpoint opens the stream of a session of 2024-11-05: its first event tells where the client's messages go, a
// path on this server (MCP 2024-11-05, basic/transports, HTTP with SSE). On stdio it is Accept.
func (s *EventStream) AcceptEndpoint(path string) { s.out.endpoint(path) }

// Resumable has r keep what is sent on the stream, so that another one can go on with it. Call it before Accept; a
// no-op on stdio.
func (s *EventStream) Resumable(r *Replay) { s.out.resumable(r) }

// Resume goes on with the stream of r that lastEventID belongs to: when it returns ResumedStream or ResumedCall the
// stream is accepted, and writes first what the client has missed. A connection that still had that stream is closed.
func (s *EventStream) Resume(r *Replay, lastEventID string) Resumed {
	return s.out.resume(r, lastEventID)
}

// Refuse answers with an HTTP status instead.
func (s *EventStream) Refuse(status int, body []byte, retryAfter time.Duration) {
	s.out.refuse(status, body, retryAfter)
}

// Push queues a frame; false when the stream is over and the frame was not taken.
func (s *EventStream) Push(msg protocol.Message, weight Weight, key string) bool {
	return s.out.push(msg, weight, outboxKey{key: key})
}

// Crowded reports whether so much waits in the stream that its client should read before it asks more.
func (s *EventStream) Crowded() bool { return s.out.Crowded() }

// Close ends the stream after what is queued has been written (bounded by the write deadline). A no-op on stdio.
func (s *EventStream) Close() { s.out.close() }

// OnGone has f called once, from a transport goroutine, when the stream is over for whatever reason.
func (s *EventStream) OnGone(f func()) { s.out.onGone(f) }

// Options says how to listen for clients.
type Options struct {
	AllowedOrigins  []string      // besides none and our own; scheme://host[:port]
	AllowedHosts    []string      // besides loopback names and what we listen on; host or host:port
	MaxMessageBytes int           // largest body taken; more is 413
	SSEAfter        time.Duration // an answer slower than this turns into SSE; 0 = 5 s
	KeepAlive       time.Duration // comment on open streams; 0 = 15 s
	WriteTimeout    time.Duration // a reader that takes nothing for so long loses its stream; 0 = 30 s
	Budget          *stream.Budget
	Other           func(path string) http.Handler // /healthz, /metrics …: small handlers for other paths; nil result = 404
	Admission       Admission                      // who asks; nil = everybody is identity.Local
	TLS             *tls.Config                    // HTTPS on every listener; nil = plain HTTP
}
