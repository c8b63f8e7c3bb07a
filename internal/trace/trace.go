// Package trace holds what the gateway records about a sampled request while the request passes through its actors. It
// knows neither the actors nor OpenTelemetry: internal/telemetry creates a Request when a client's request arrives, the
// actors note what happens to it, and internal/telemetry makes spans from the notes when the request has been answered.
//
// A Request exists for monitoring only. No actor decides anything by it. A request that is not sampled has none, so
// Sent, Retry, On and LogArgs accept a nil *Request.
//
//	r.Sent(now, wait)             // the pool has given the call to a connection
//	r.On(connection, id)          // the connection has written it
package trace

import (
	"encoding/hex"
	"sync"
	"time"
)

// maxEvents is the maximum number of events of one request. Later ones are dropped.
const maxEvents = 16

// ID is the identity of a request in its trace. It does not change.
type ID struct {
	Trace  [16]byte
	Server [8]byte // span of the client's request at the gateway
	Client [8]byte // span of the gateway's request at the server
	State  string  // tracestate of the parent; "" = none
}

// Request collects what happens to one sampled request. It is safe for concurrent use.
type Request struct {
	ID
	Parent Context // the client's span; zero = the request begins its trace
	Link   Context // the span of the HTTP request; zero = none

	mu     sync.Mutex
	call   Call
	events []Event
}

// Context is a remote span, as in a traceparent header.
type Context struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
	State string // tracestate; "" = none
}

// Present reports whether the context names a span.
func (c Context) Present() bool { return c.Trace != [16]byte{} }

// Call describes the server's part of a request.
type Call struct {
	Connection
	Began     time.Time // when the call was first given to a connection; zero = it never was
	Attempts  int       // how many times the call was given to a connection
	RequestID uint32    // the gateway's id of the request at the server
}

// Connection is the connection that the call was last written to.
type Connection struct {
	Version   string // protocol version; "" = unknown
	Transport string // stdio | http | sse; "" = unknown
	Address   string // host of the server's URL; "" = it has none
	Port      int    // port of the server's URL; 0 = it has none
}

// Event is something that happened to a request.
type Event struct {
	Name   EventName
	At     time.Time
	Wait   time.Duration // for Queued: the time in the queue
	Reason string        // for Retried: why the connection did not execute the call, as text for users
}

// EventName names the kind of an event.
type EventName string

// The kinds of events.
const (
	Queued  EventName = "queued"  // the call has left the queue
	Retried EventName = "retried" // the call was not executed and goes to another connection
)

// Sent records that a connection gets the call, after a wait in the queue (0 = none).
func (r *Request) Sent(now time.Time, wait time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.call.Attempts++; r.call.Attempts == 1 {
		r.call.Began = now
	}
	if wait > 0 {
		r.add(Event{Name: Queued, At: now, Wait: wait})
	}
}

// Retry records that a connection did not execute the call, so another connection may get it.
func (r *Request) Retry(now time.Time, reason string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(Event{Name: Retried, At: now, Reason: reason})
}

// On records the connection to which the call was written.
func (r *Request) On(c Connection, id uint32) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call.Connection, r.call.RequestID = c, id
}

// add appends an event. The caller must hold mu.
func (r *Request) add(e Event) {
	if len(r.events) < maxEvents {
		r.events = append(r.events, e)
	}
}

// Noted returns what has been recorded so far. The slice must not be modified.
func (r *Request) Noted() (Call, []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.call, r.events[:len(r.events):len(r.events)]
}

// Traceparent returns the W3C trace context that the server gets: its parent is the gateway's client span.
func (r *Request) Traceparent() string {
	return "00-" + hex.EncodeToString(r.Trace[:]) + "-" + hex.EncodeToString(r.Client[:]) + "-01"
}

// Keys of the attributes with which a log line refers to a trace.
const (
	LogTrace = "trace_id"
	LogSpan  = "span_id"
)

// LogArgs returns args with the trace of a request for a log line. It returns args if the request is not sampled.
func (r *Request) LogArgs(args ...any) []any {
	if r == nil {
		return args
	}
	return append(args, LogTrace, hex.EncodeToString(r.Trace[:]), LogSpan, hex.EncodeToString(r.Server[:]))
}
