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
	c.Handler.Post(&r.Exchange)
	return &Exchange{reader{response: r}}, nil
}

// Delete ends the session that origin names.
func (c *Client) Delete(origin downstream.Origin) *Exchange {
	r := downstream.NewResponse(origin, connection{c}, c.Budget, c.Limit)
	r.Delete()
	c.Handler.Delete(&r.Exchange)
	return &Exchange{reader{response: r}}
}

// Open requests a stream.
func (c *Client) Open(origin downstream.Origin) *Stream {
	r := downstream.NewStreamResponse(origin, connection{c}, c.Budget, c.Limit)
	c.Handler.Open(&r.EventStream)
	return &Stream{reader{response: r}}
}

// Exchange is a POST or DELETE of a Client.
type Exchange struct{ reader }

// Stream is a GET of a Client.
type Stream struct{ reader }

// response is a downstream.Response or a downstream.StreamResponse.
type response interface {
	Head() (downstream.Head, bool)
	Read(dst []byte) (_ []byte, last bool)
	Leave()
	Over() bool
	Waiting() int
}

// reader reads a response.
type reader struct {
	response
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
