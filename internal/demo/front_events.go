package demo

import (
	"crypto/rand"
	"net/http"

	"goblin-actor/protocol/downstream"
)

// openEvents starts a session of HTTP+SSE, whose stream exists before initialize.
// MCP 2024-11-05, basic/transports, HTTP with SSE.
func (f *front) openEvents(stream *downstream.EventStream) {
	id := rand.Text()
	f.mu.Lock()
	full := len(f.events) >= maxSessions
	if !full {
		f.events[id] = stream
	}
	f.mu.Unlock()
	if full {
		stream.Refuse(http.StatusServiceUnavailable, failure(nil, codeInvalidRequest, "too many sessions"), 0)
		return
	}
	stream.AcceptEndpoint(downstream.MessagesPath(stream.Origin.Path) + "?sessionId=" + id)
	stream.OnGone(func() {
		f.mu.Lock()
		delete(f.events, id)
		c := f.sessions[id]
		f.mu.Unlock()
		if c != nil {
			f.remove(c)
		}
	})
}

// redirect sends the answer to a message to the stream of its session. If there is no stream, it refuses the message
// and returns false.
func (f *front) redirect(x *downstream.Exchange) bool {
	f.mu.Lock()
	stream := f.events[x.Origin.SessionID]
	f.mu.Unlock()
	if stream == nil {
		x.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "unknown session: open /sse first"), 0)
		return false
	}
	x.Redirect(stream)
	return true
}

// attach connects a new session of HTTP+SSE with its stream.
func (f *front) attach(c *session) {
	f.mu.Lock()
	stream := f.events[c.id]
	f.mu.Unlock()
	if stream == nil { // the stream has ended
		f.remove(c)
		return
	}
	c.open(stream)
}

// accept accepts a stream that the client opened, or resumes a lost one.
func (c *session) accept(stream *downstream.EventStream) {
	outcome := downstream.ResumedNothing
	if c.replay != nil && stream.Origin.LastEvent != "" {
		outcome = stream.Resume(c.replay, stream.Origin.LastEvent)
	}
	switch outcome {
	case downstream.ResumedCall:
		return
	case downstream.ResumeGone:
		stream.Refuse(http.StatusBadRequest, failure(nil, codeInvalidRequest, "the stream to resume has ended"), 0)
		return
	case downstream.ResumedNothing:
		if c.replay != nil {
			stream.Resumable(c.replay)
		}
		stream.Accept()
	}
	c.open(stream)
}
