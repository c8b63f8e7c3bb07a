// Package pipeclient is an MCP client in the same program as the gateway. Its requests and streams are HTTP exchanges
// without a network connection. The client reads a response one message at a time, whenever the caller wants. It has no
// goroutines and no timers, so the caller decides the order of all events.
package pipeclient

import (
	"bytes"
	"time"

	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// Client posts messages to a Handler and opens streams.
type Client struct {
	Handler downstream.Handler
	Budget  *stream.Budget // of the gateway; request bodies and waiting messages count against it
	Limit   int            // bytes that may wait for a slow reader; 0 means the default of downstream
	More    func()         // called when there may be something to read; it must not block. May be nil

	// Carry returns what the client reads instead of a response, such as the same response after a delay. x is the
	// *downstream.Exchange or *downstream.EventStream that the Handler is about to get. nil = the client reads the response itself.
	Carry func(x any, r Response) Response
}

// Response is what a client reads. It is implemented by downstream.Response and downstream.StreamResponse.
type Response interface {
	Head() (downstream.Head, bool)
	Read(dst []byte) (_ []byte, last bool)
	Leave()
	Over() bool
	Waiting() int
}

func (c *Client) carry(x any, r Response) Response {
	if c.Carry == nil {
		return r
	}
	return c.Carry(x, r)
}

// connection is the downstream.Connection of a client's responses. It only calls More. The client notices everything
// else when it reads.
type connection struct{ client *Client }

func (c connection) Wake() {
	if c.client.More != nil {
		c.client.More()
	}
}

func (c connection) Lost()         { c.Wake() }
func (connection) Watch()          {}
func (connection) Kill()           {}
func (connection) DroppedLogs(int) {}
func (connection) Run(f func())    { f() }

// Seen is what a client reads next.
type Seen struct {
	Status     int           // of the header; 0 in what follows the header of a stream
	Session    string        // Mcp-Session-Id of the header
	RetryAfter time.Duration // Retry-After of the header
	Stream     bool          // the header of an event stream: the rest follows
	EventID    string        // of this event; "" if it has none. An event may have an id and no frame
	Frame      []byte        // the message, or the body of a refusal
	Last       bool          // nothing follows
}

// Post sends a message. It returns the exchange, or the response to a body that is not accepted.
func (c *Client) Post(raw []byte, origin downstream.Origin) (x *Exchange, refused *Seen) {
	r := downstream.NewResponse(origin, connection{c}, c.Budget, c.Limit)
	if h := r.Receive(raw); h != nil {
		s := seenHead(*h)
		return nil, &s
	}
	carried := c.carry(&r.Exchange, r)
	c.Handler.Post(&r.Exchange)
	return &Exchange{reader{Response: carried}}, nil
}

// Delete ends the session that origin names.
func (c *Client) Delete(origin downstream.Origin) *Exchange {
	r := downstream.NewResponse(origin, connection{c}, c.Budget, c.Limit)
	r.Delete()
	carried := c.carry(&r.Exchange, r)
	c.Handler.Delete(&r.Exchange)
	return &Exchange{reader{Response: carried}}
}

// Open requests a stream.
func (c *Client) Open(origin downstream.Origin) *Stream {
	r := downstream.NewStreamResponse(origin, connection{c}, c.Budget, c.Limit)
	carried := c.carry(&r.EventStream, r)
	c.Handler.Open(&r.EventStream)
	return &Stream{reader{Response: carried}}
}

// Exchange is a POST or DELETE of a Client.
type Exchange struct{ reader }

// Stream is a GET of a Client.
type Stream struct{ reader }

// reader reads a response.
type reader struct {
	Response
	begun bool   // the header was read
	bytes []byte // of the stream, read from the response and not returned yet
	last  bool   // the response ends after bytes
}

// Next returns what the client reads next. ok is false while there is nothing to read.
func (r *reader) Next() (s Seen, ok bool) {
	if !r.begun {
		h, ok := r.Head()
		if !ok {
			return Seen{}, false
		}
		r.begun = true
		return seenHead(h), true
	}
	for {
		event, rest, found := bytes.Cut(r.bytes, []byte("\n\n"))
		if !found {
			if r.last {
				r.last = false
				return Seen{Last: true}, true
			}
			if r.bytes, r.last = r.Read(r.bytes); len(r.bytes) == 0 && !r.last {
				return Seen{}, false
			}
			continue
		}
		r.bytes = rest
		if s = seenEvent(event); s.EventID == "" && s.Frame == nil { // a comment, or only the time to wait before reconnecting
			continue
		}
		if s.Last = r.last && len(rest) == 0; s.Last {
			r.last = false
		}
		return s, true
	}
}

func seenHead(h downstream.Head) Seen {
	return Seen{Status: h.Status, Session: h.Session, RetryAfter: h.RetryAfter, Stream: h.Stream, Frame: h.Body, Last: !h.Stream}
}

// seenEvent reads one event of a stream. Messages have one line of data.
func seenEvent(event []byte) (s Seen) {
	for line := range bytes.SplitSeq(event, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case string(name) == "id":
			s.EventID = string(value)
		case string(name) == "data" && len(value) > 0:
			s.Frame = value
		}
	}
	return s
}
