package upstream

import (
	"context"
	"time"

	"goblin-actor/protocol"
)

// Link is one connection to a server: a process on stdio, a URL, or an in-memory pipe. It moves frames and decides nothing.
//
// No method blocks. Calls come from one goroutine at a time (the backend actor); what happens is told to the Sink.
// A Link is used once: after Closed was told, nothing else is; a Send that comes later is dropped, and Closed stands for its NotSent.
type Link interface {
	// Send writes a frame. Exactly one of Written and NotSent is told for its ticket,
	// and for a request over streamable HTTP later exactly one of Received{Last: true} and Ended. Over HTTP+SSE the answer
	// comes with ticket 0, and a request is told Ended, or Received{Last: true}, only when its POST was refused or failed.
	Send(Outgoing)
	// Cancel gives up the HTTP exchange of a ticket by closing its response; a no-op elsewhere.
	Cancel(ticket uint64)
	// Listen opens the stream for messages that belong to no request (streamable HTTP: GET) and tells Listening or ListenFailed;
	// the link itself opens it again. HTTP+SSE tells Listening, its stream is open; a no-op elsewhere.
	Listen()
	// SetVersion sets the protocol version that HTTP requests name from now on.
	SetVersion(version string)
	// Close ends the connection: process: stdin closed, TERM after grace, KILL after grace again, whole group; HTTP: DELETE of the session. Closed is told when done.
	Close(grace time.Duration)
}

// Outgoing is a frame for a server.
type Outgoing struct {
	Ticket  uint64                 // the caller's number for it, > 0
	Frame   []byte                 // one JSON-RPC message; the link only reads it
	Newline bool                   // raw newlines stand between tokens
	Request bool                   // an answer is expected (HTTP: the response body)
	Method  string                 // for HTTP headers (modern era)
	Name    string                 // likewise: Mcp-Name, the server's own name or URI; "" = none
	Headers []protocol.HeaderField // likewise: Mcp-Param-*, ready to be sent; the link only reads them
	Lend    func(job Job) bool     // has job done on a goroutine that waits for the answer anyway; false, or nil: there is none
}

// Job is what a link does on a goroutine that was lent to it: something that takes a moment, not longer.
type Job = interface{ Do() }

// Sink is where a Link tells what happened. It blocks while the receiver has no room, which stalls the peer (back-pressure).
// It returns an error when nobody listens any more.
type Sink func(ctx context.Context, e Event) error

// Event is what a Link tells.
type Event interface{ linkEvent() }

type (
	// Opened says that the process runs, or that the URL is ready to be tried. Always first, unless the link never opened:
	// then there are only the NotSent of what was sent meanwhile, and Closed.
	Opened struct{ PID int }
	// Received is a frame that came. Ticket is the request on whose HTTP response it came; 0 for stdio and GET streams.
	// Last: the response of Ticket ends with this frame.
	Received struct {
		Ticket uint64
		Frame  protocol.Frame
		Last   bool
		Status int // of that HTTP response; 0 for stdio and the GET stream

		Session bool // that HTTP response has named a session
	}
	// Written says that the frame of Ticket has left us: write(2) took it, or the HTTP connection its first byte.
	// A process may answer before it is told: the two come from different goroutines.
	Written struct{ Ticket uint64 }
	// NotSent says that certainly nothing of the frame of Ticket reached the server.
	NotSent struct {
		Ticket uint64
		Err    error
	}
	// Ended says that the HTTP response of Ticket is over without an answer in it. Err says why (StatusError, io.ErrUnexpectedEOF …);
	// nil for a notification or response that was accepted (202).
	Ended struct {
		Ticket uint64
		Err    error
	}
	// SessionLost says that the server no longer knows our session (404, or 400 that says so). The request of Ticket was not executed;
	// its Ended{ErrSessionLost} follows. The link has forgotten the session: the next initialize begins another. Ticket 0: the GET stream.
	SessionLost struct{ Ticket uint64 }
	// Listening says that the server has opened the GET stream; it is told each time.
	Listening struct{}
	// ListenFailed says that the GET stream is refused for good (405) or broke; the link goes on trying unless Final.
	ListenFailed struct {
		Err   error
		Final bool
	}
	// Noise is a line on stdout that is no JSON-RPC message (cut at 512 bytes), or a frame that was refused.
	// ID is set when it was meant as the response to that id, raw: no other answer will come.
	Noise struct {
		Line []byte
		ID   []byte
		Err  error
	}
	// Stderr is a line that the process wrote there (cut at 4 KiB).
	Stderr struct{ Line string }
	// Closed says that the connection is over and all its resources are freed. Err nil: we asked for it.
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
