package upstream

import (
	"context"
	"time"

	"goblin-actor/protocol"
)

// Link is a connection to a server: a process, a URL, a function in this process, or an in-memory pipe. It moves
// frames and decides nothing about them.
//
// No method blocks. One goroutine at a time calls the methods (the backend actor). Results are reported to the Sink.
// A Link is used once: it reports nothing after Closed. A later Send is dropped without NotSent.
type Link interface {
	// Send writes a frame. The link reports exactly one of Written and NotSent for its ticket. For a request over
	// Streamable HTTP, exactly one of Received{Last: true} and Ended follows Written. Over HTTP+SSE, the response has
	// ticket 0, and Ended or Received{Last: true} follows only if the POST was refused or failed.
	Send(Outgoing)
	// Cancel aborts the HTTP exchange of a ticket by closing its response. It has no effect on other links.
	Cancel(ticket uint64)
	// Listen opens the stream for messages that belong to no request (Streamable HTTP: GET) and reports Listening or
	// ListenFailed. The link reopens the stream itself. HTTP+SSE, whose stream is open already, reports Listening.
	// Other links do nothing.
	Listen()
	// SetVersion sets the protocol version in the header of later HTTP requests.
	SetVersion(version string)
	// Close ends the connection and reports Closed when done. For a process, it closes stdin, asks the process group to
	// exit after grace (SIGTERM; on Windows, CTRL_BREAK), and kills it after the same time again. Over Streamable HTTP, it
	// ends a legacy session with DELETE, unless grace is 0.
	Close(grace time.Duration)
}

// Outgoing is a frame for a server.
type Outgoing struct {
	Ticket    uint64                 // chosen by the caller, > 0
	Frame     []byte                 // one JSON-RPC message; the link does not modify it
	Newline   bool                   // it contains raw newlines between tokens
	Request   bool                   // a response is expected (over HTTP, in the response body)
	Method    string                 // method name; over HTTP in the modern era, also the header Mcp-Method
	Name      string                 // for the header Mcp-Name (modern era): the name or URI that the server uses; "" = none
	Headers   []protocol.HeaderField // Mcp-Param-* headers (modern era) and a trace context, encoded; the link does not modify them
	RunInline func(job Job) bool     // runs job on the goroutine that waits for the response; returns false if there is none; may be nil
}

// Job is work that a link passes to Outgoing.RunInline. It must be short.
type Job = interface{ Do() }

// Sink receives the events of a Link. It blocks while the receiver's queue is full, which stalls the peer (back-pressure).
// It returns an error once the receiver has stopped.
type Sink func(ctx context.Context, e Event) error

// Event is an event of a Link.
type Event interface{ linkEvent() }

type (
	// Opened means that the process runs, or that the URL can be used. It is the first event, unless opening failed:
	// then the only events are NotSent for each frame sent so far, and Closed.
	Opened struct{ PID int }
	// Received is a received frame. Ticket is the request whose HTTP response contained it, or 0 for stdio and GET streams.
	// Last means that the response ends with this frame.
	Received struct {
		Ticket uint64
		Frame  protocol.Frame
		Last   bool
		Status int // status of that HTTP response; 0 for stdio and the GET stream

		Session bool // that HTTP response contained a session id
	}
	// Written means that stdin of the process or the HTTP connection accepted at least the first byte of the frame of
	// Ticket, or that a server in this process gets it. The response of a process may be reported before Written,
	// because different goroutines report them.
	Written struct{ Ticket uint64 }
	// NotSent means that no byte of the frame of Ticket reached the server.
	NotSent struct {
		Ticket uint64
		Err    error
	}
	// Ended means that the HTTP response to Ticket ended without a JSON-RPC response. Err says why (StatusError,
	// io.ErrUnexpectedEOF …). It is nil for a notification or response that was accepted (202).
	Ended struct {
		Ticket uint64
		Err    error
	}
	// SessionLost means that the server no longer knows the session: it sent 404, or another error that says so. The
	// request of Ticket was not executed; Ended{ErrSessionLost} follows. The link drops the session, and the next
	// initialize starts another. Ticket 0 means the GET stream; no Ended follows then.
	SessionLost struct{ Ticket uint64 }
	// Listening means that the server has opened the GET stream. It is reported each time the stream is opened.
	Listening struct{}
	// ListenFailed means that the GET stream was refused (405) or broke. The link keeps trying unless Final is set.
	ListenFailed struct {
		Err   error
		Final bool
	}
	// Noise is a line on stdout that is not a JSON-RPC message (truncated to 512 bytes), or an invalid frame.
	// If the line looks like a broken response, ID is the raw id of its request; no other response will follow.
	Noise struct {
		Line []byte
		ID   []byte
		Err  error
	}
	// Stderr is a line that the process wrote to stderr (truncated to 4 KiB).
	Stderr struct{ Line string }
	// Closed means that the connection has ended and all its resources are released. Err is nil after Close.
	Closed struct {
		Err    error
		Stderr []string // last lines of a process
	}
)

func (Opened) linkEvent()       {}
func (Received) linkEvent()     {}
func (Written) linkEvent()      {}
func (NotSent) linkEvent()      {}
func (Ended) linkEvent()        {}
func (SessionLost) linkEvent()  {}
func (Listening) linkEvent()    {}
func (ListenFailed) linkEvent() {}
func (Noise) linkEvent()        {}
func (Stderr) linkEvent()       {}
func (Closed) linkEvent()       {}
