package downstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Handler answers the messages of clients. Its methods may be called from any goroutine and must return quickly.
// Answers may be given from any goroutine, through the Exchange or EventStream.
type Handler interface {
	// Post handles a message: an HTTP POST, or a line on stdio.
	Post(x *Exchange)
	// Open handles a stream for messages outside of requests: a GET with Accept: text/event-stream, or stdout on stdio. The
	// Handler accepts, resumes or refuses the stream.
	Open(stream *EventStream)
	// Delete handles the end of a session. The Handler calls x.Accept or x.Refuse.
	Delete(x *Exchange)
}

// Origin describes the source of a message. Its strings are copies and may be retained.
type Origin struct {
	Stdio        bool                // the message was read from stdin, which has no headers: no path, session or version
	Path         string              // "/mcp", "/p/alpha/mcp", "/s/files/mcp"; "" on stdio
	SessionID    string              // Mcp-Session-Id; "" if absent
	Version      string              // MCP-Protocol-Version; "" if absent
	Project      string              // Goblin-Project; "" if absent or empty
	EmptyProject bool                // Goblin-Project is present and empty
	Remote       string              // host:port of the client (port 0 if a trusted proxy names it); "stdio" on stdio
	Principal    *identity.Principal // the principal that Options.Admission returned; nil means identity.Local
	LastEvent    string              // Last-Event-ID (GET); "" if absent
	JSONOnly     bool                // the client or the connection does not support event streams; never set for RouteMessages
	EventsOnly   bool                // the client accepts nothing but an event stream
	Forwarded    http.Header         // headers to forward to servers, see Server.SetForwarded; nil if there are none
	Header       http.Header         // Mcp-* headers of a request of 2026-07-28 and later, else nil
	Relayed      bool                // another node of the cluster has passed the request on; the Handler sets it
}

// HostOf returns an Origin.Remote without its port.
func HostOf(remote string) string {
	if i := strings.LastIndexByte(remote, ':'); i >= 0 {
		return remote[:i]
	}
	return remote
}

// Repeated returns a function that reads the headers of a modern message, which repeat members of its body. It is the header
// argument of protocol.EraOf and protocol.CheckModern. Repeated returns nil on stdio.
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

// Exchange is one message of a client and the response to it. Methods may be called from any goroutine and never block.
//
//	x.Answer(frame)       the final answer, which ends the exchange; also AnswerPieces
//	x.Notify(…)           a message before the answer, which turns the HTTP response into an event stream
//	x.Accept()            202 without a body, for notifications and responses
//	x.Refuse(status, …)   an HTTP error
//
// Only the first call of Answer, Accept or Refuse takes effect. After the client has left, all calls are ignored,
// unless the exchange is Resumable.
type Exchange struct {
	Frame    protocol.Frame
	Params   protocol.Params // already scanned
	Batch    []byte          // the JSON array if the body is a batch (2025-03-26); Frame is then unset
	Origin   Origin
	Began    time.Time
	Internal bool // the gateway created it while executing one of its own tools, so no headers belong to it
	Report   Report

	port     port
	observed observed
}

// Weight determines whether a message may be dropped or replaced while its reader is slow.
type Weight uint8

// The weights of messages.
const (
	WeightAnswer   Weight = iota // never dropped; beyond the budget, an error replaces an answer
	WeightState                  // replaces a waiting message with the same key
	WeightLog                    // dropped if the budget has no room; if too many such messages wait, the oldest is dropped
	WeightProgress               // like WeightState once 32 messages with the same key wait; dropped if the budget has no room
)

// Queued is the outcome of sending a message before or without an answer.
type Queued struct {
	Over    bool // the exchange or stream has ended, so the message is not sent
	Merged  bool // the message replaces one with the same key that was still waiting
	Dropped int  // log and progress messages that were dropped because the client reads too slowly; the message may be one of them
}

// port is the destination of an exchange's messages.
type port interface {
	answer(msg protocol.Message)
	answers(parts []protocol.Message) // the answers to a batch
	notify(msg protocol.Message, weight Weight, key string) Queued
	unsent() int
	accept()
	refuse(status int, body []byte, retryAfter time.Duration)
	setSession(id string)
	onGone(func())
	resumable(*Replay)
	takeBody() body
	budget() *stream.Budget
}

// Answer sends the final answer.
func (x *Exchange) Answer(msg protocol.Message) {
	x.answered(msg.Frame)
	x.port.answer(msg)
}

// AnswerPieces is like Answer, but takes a frame in pieces. An HTTP response is written without joining them. memory holds
// the pieces and may be nil. AnswerPieces takes ownership of memory, which may be reused once the pieces are written.
func (x *Exchange) AnswerPieces(pieces [][]byte, newline bool, memory *protocol.Memory) {
	x.answered(nil)
	if r, ok := x.port.(*Response); ok {
		r.answerPieces(pieces, newline, memory)
		return
	}
	frame := slices.Concat(pieces...)
	memory.Free()
	x.port.answer(protocol.Message{Frame: frame, Newline: newline})
}

// Notify sends a message ahead of the answer. Only WeightState and WeightProgress use key. If Origin.JSONOnly
// is set, the message is dropped.
func (x *Exchange) Notify(msg protocol.Message, weight Weight, key string) Queued {
	return x.port.notify(msg, weight, key)
}

// Unsent returns how many bytes wait for the client to read them. It returns 0 for an exchange that shares the place where its
// messages wait with others: on stdio, after Redirect, and in a batch.
func (x *Exchange) Unsent() int { return x.port.unsent() }

// Accept answers with 202 without a body, or with 204 to a Delete.
func (x *Exchange) Accept() {
	x.Report.Cancelled = true // a request is accepted only if its client no longer waits for the answer
	x.answered(nil)
	x.port.accept()
}

// Refuse answers with an HTTP status and a JSON body, which may be nil. retryAfter > 0 sets Retry-After. On stdio, a
// body is written as a line.
func (x *Exchange) Refuse(status int, body []byte, retryAfter time.Duration) {
	x.answered(body)
	x.port.refuse(status, body, retryAfter)
}

// SetSession sets the Mcp-Session-Id header of the response, unless it is a refusal. Call it before Answer. It does
// nothing on stdio.
func (x *Exchange) SetSession(id string) { x.port.setSession(id) }

// OnGone makes the transport call f once, from one of its goroutines, if the client leaves before the answer is
// written. It does not call f if a Resumable exchange loses its connection while its event stream is open and the
// answer is not known.
func (x *Exchange) OnGone(f func()) { x.port.onGone(f) }

// Resumable makes the exchange outlive its connection once the response is an event stream. r then retains later messages
// until the client reconnects. Call Resumable when the exchange arrives. It does nothing on stdio.
func (x *Exchange) Resumable(r *Replay) { x.port.resumable(r) }

// EventStream is a client's open stream for messages outside of requests: a GET, or stdout on stdio. A bounded queue
// holds messages for a slow reader; see Weight for what is dropped. Push never blocks.
type EventStream struct {
	Origin Origin

	out outbox
}

// outbox is the queue of an EventStream and its connection.
type outbox interface {
	accept()
	refuse(status int, body []byte, retryAfter time.Duration)
	push(msg protocol.Message, weight Weight, key outboxKey) Queued
	unsent() int
	close()
	onGone(func())
	endpoint(uri string)
	resumable(*Replay)
	resume(r *Replay, lastEvent string) Resumed
	crowded() bool
}

// Accept opens the stream with status 200.
func (s *EventStream) Accept() { s.out.accept() }

// AcceptEndpoint opens the stream of a session of 2024-11-05. Its first event names the path to which the client posts its
// messages (MCP 2024-11-05, basic/transports, HTTP with SSE). On stdio it is the same as Accept.
func (s *EventStream) AcceptEndpoint(path string) { s.out.endpoint(path) }

// Resumable makes r retain the messages of the stream, so that another stream can continue it. Call it before Accept. It
// does nothing on stdio.
func (s *EventStream) Resumable(r *Replay) { s.out.resumable(r) }

// Resume continues the stream of r to which lastEventID belongs. If it returns ResumedStream or ResumedCall, the stream
// is accepted and first writes the messages that the client has missed. An older connection of that stream is closed.
func (s *EventStream) Resume(r *Replay, lastEventID string) Resumed {
	return s.out.resume(r, lastEventID)
}

// Refuse refuses the stream with an HTTP status.
func (s *EventStream) Refuse(status int, body []byte, retryAfter time.Duration) {
	s.out.refuse(status, body, retryAfter)
}

// Push queues a message.
func (s *EventStream) Push(msg protocol.Message, weight Weight, key string) Queued {
	return s.out.push(msg, weight, outboxKey{key: key})
}

// Unsent returns how many bytes wait for the client to read them.
func (s *EventStream) Unsent() int { return s.out.unsent() }

// Crowded reports whether the stream holds so many unread bytes that further requests of its client should be refused.
func (s *EventStream) Crowded() bool { return s.out.crowded() }

// Close ends the stream once the queued messages are written, or at the write deadline. It does nothing on stdio.
func (s *EventStream) Close() { s.out.close() }

// OnGone makes the transport call f once, from one of its goroutines, when the stream has ended for any reason.
func (s *EventStream) OnGone(f func()) { s.out.onGone(f) }

// Upgrade returns the new owner of a connection whose client wants to use it for another protocol, or nil. It is called before
// Admission. The owner must close the connection.
type Upgrade func(path, protocol string) (owner func(net.Conn))

// Options configures a Server.
type Options struct {
	AllowedOrigins  []string                       // accepted in addition to the server's own; scheme://host[:port]
	AllowedHosts    []string                       // accepted in addition to loopback names and listener addresses; host or host:port
	MaxMessageBytes int                            // largest body, or line on stdio; a larger body is refused with 413; 0 means 64 MiB
	SSEAfter        time.Duration                  // a slower answer becomes an event stream; 0 means 5 s
	KeepAlive       time.Duration                  // interval of comments on idle streams; 0 means 15 s
	WriteTimeout    time.Duration                  // a client that reads too little for this long loses its connection; 0 means 30 s
	Budget          *stream.Budget                 // limits the buffered bytes
	Other           func(path string) http.Handler // returns the handler of a path outside MCP, such as /healthz; without a handler, the response is 404
	Admission       Admission                      // authenticates requests; if nil, every client is identity.Local
	Upgrade         Upgrade                        // accepts requests to use the connection for another protocol; if nil, there are none
	TLS             *tls.Config                    // serves HTTPS on all listeners; if nil, plain HTTP
	TraceHeaders    bool                           // an Observer wants Report.Traceparent and Tracestate
}
