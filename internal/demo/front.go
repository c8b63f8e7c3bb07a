package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// front is the downstream.Handler for one run of a Server.
type front struct {
	*Server
	ctx   context.Context // ends when the run ends
	stdio bool            // one client with the session ""

	running sync.WaitGroup // its requests and background work

	modernRunning int                                // requests of modern clients; guarded by mu
	modernCalls   map[string]context.CancelCauseFunc // on stdio, by request id; guarded by mu
}

// Post processes a message. Each request runs in its own goroutine.
func (f *front) Post(x *downstream.Exchange) {
	if downstream.RouteMessages.Ends(x.Origin.Path) && !f.redirect(x) {
		return
	}
	if f.stdio && x.Batch == nil && x.Frame.Method == protocol.NotificationCancelled { // a cancellation does not show its era; over HTTP, modern clients close the stream instead
		f.cancelModern(string(x.Params.RequestID.Of(x.Frame.Raw)))
	}
	if f.isModern(x) {
		f.modern(x)
		return
	}
	switch {
	case x.Batch != nil:
		x.Refuse(http.StatusBadRequest, failure(nil, codeInvalidRequest, "batches are not supported"), 0)
		return
	case x.Frame.Kind == protocol.KindRequest && x.Frame.Method == protocol.MethodInitialize:
		f.initialize(x)
		return
	}
	c := f.find(x.Origin.SessionID)
	before := f.stdio || downstream.RouteMessages.Ends(x.Origin.Path) // the server has a stream for responses even before initialize
	switch {
	case c != nil:
	case x.Frame.Kind == protocol.KindRequest && before:
		answerEarly(x)
		return
	case before:
		x.Accept()
		return
	case x.Origin.SessionID == "": // MCP 2025-11-25, basic/transports: 400 without a session id, 404 with an unknown one
		x.Refuse(http.StatusBadRequest, failure(nil, codeInvalidRequest, "Mcp-Session-Id is missing: send initialize first"), 0)
		return
	default:
		x.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "unknown session: send initialize again"), 0)
		return
	}
	switch x.Frame.Kind {
	case protocol.KindRequest:
		if c.replay != nil {
			x.Resumable(c.replay)
		}
		f.request(c, x)
	case protocol.KindNotification:
		c.notified(x)
		x.Accept()
	default:
		c.answered(&x.Frame)
		x.Accept()
	}
}

// answerEarly answers a request before initialize on stdio or HTTP+SSE. Only ping is allowed.
func answerEarly(x *downstream.Exchange) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	switch x.Frame.Method {
	case protocol.MethodPing:
		x.Answer(protocol.Message{Frame: protocol.AppendResult(nil, id, []byte("{}"))})
	case protocol.MethodServerDiscover, protocol.MethodOther:
		x.Answer(protocol.Message{Frame: failure(id, codeMethodNotFound, "method not found")})
	default:
		x.Answer(protocol.Message{Frame: failure(id, codeInvalidRequest, "not initialized: send initialize first")})
	}
}

func (c *session) notified(x *downstream.Exchange) {
	switch x.Frame.Method {
	case protocol.NotificationInitialized:
		c.initialized()
	case protocol.NotificationCancelled:
		if id := x.Params.RequestID.Of(x.Frame.Raw); id != nil {
			c.cancel(string(id))
		}
	}
}

// request runs a request and answers it, unless it is canceled: then the exchange ends without an answer.
// MCP 2025-11-25, basic/utilities/cancellation.
func (f *front) request(c *session, x *downstream.Exchange) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	ctx, ok := c.begin(string(id))
	if !ok {
		x.Answer(protocol.Message{Frame: failure(id, codeInvalidRequest, "too many requests at once, or this id is in use")})
		return
	}
	f.running.Go(func() {
		defer c.finish(string(id))
		result, err := f.dispatch(&Call{Context: ctx, session: c, x: x, front: f})
		if errors.Is(context.Cause(ctx), errCancelled) {
			x.Accept()
			return
		}
		x.Answer(protocol.Message{Frame: response(id, result, err)})
	})
}

// initialize starts a session. MCP 2025-11-25, basic/lifecycle.
func (f *front) initialize(x *downstream.Exchange) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	if f.find(x.Origin.SessionID) != nil {
		x.Refuse(http.StatusBadRequest, failure(id, codeInvalidRequest, "the session is already initialized"), 0)
		return
	}
	asked, ok := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
	if !ok {
		x.Answer(protocol.Message{Frame: failure(id, codeInvalidParams, "protocolVersion: expected a string")})
		return
	}
	version := f.Protocol
	if version == "" {
		version = protocol.Negotiate(asked)
	}
	name := ""
	switch {
	case downstream.RouteMessages.Ends(x.Origin.Path):
		name = x.Origin.SessionID
	case !f.stdio:
		name = rand.Text()
		x.SetSession(name)
	}
	c := newSession(f.ctx, name, version, x.Params.Capabilities.Of(x.Frame.Raw))
	if name != "" && !downstream.RouteMessages.Ends(x.Origin.Path) && c.knows(protocol.Version20250326) {
		c.replay = downstream.NewReplay(downstream.ReplayOptions{Prime: c.knows(protocol.Version20251125)})
	}
	f.add(c)
	if downstream.RouteMessages.Ends(x.Origin.Path) {
		f.attach(c)
	}
	x.Answer(protocol.Message{Frame: response(id, f.hello(version), nil)})
}

// Open opens a stream for messages that belong to no request. On stdio it exists before the session.
func (f *front) Open(stream *downstream.EventStream) {
	if protocol.IsModern(f.Protocol) && !f.stdio {
		stream.Refuse(http.StatusMethodNotAllowed, nil, 0)
		return
	}
	if downstream.RouteSSE.Ends(stream.Origin.Path) {
		f.openEvents(stream)
		return
	}
	c := f.find(stream.Origin.SessionID)
	switch {
	case c != nil:
		c.accept(stream)
	case f.stdio:
		stream.Accept()
		f.mu.Lock()
		f.stdout = stream
		f.mu.Unlock()
	case stream.Origin.SessionID == "":
		stream.Refuse(http.StatusBadRequest, failure(nil, codeInvalidRequest, "Mcp-Session-Id is missing"), 0)
	default:
		stream.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "unknown session"), 0)
	}
}

// Delete ends a session.
func (f *front) Delete(x *downstream.Exchange) {
	if protocol.IsModern(f.Protocol) {
		x.Refuse(http.StatusMethodNotAllowed, nil, 0)
		return
	}
	c := f.find(x.Origin.SessionID)
	if c == nil {
		x.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "unknown session"), 0)
		return
	}
	f.remove(c)
	x.Accept()
}

// find returns a session and marks it as used, or returns nil.
func (s *Server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c != nil {
		c.touch()
	}
	return c
}

// add adds a session. If there are too many, it ends the one that has been idle the longest. A session with a stream or
// a call counts as just used.
func (s *Server) add(c *session) {
	s.mu.Lock()
	var oldest *session
	if len(s.sessions) >= maxSessions {
		for _, o := range s.sessions {
			if oldest == nil || o.idleSince().Before(oldest.idleSince()) {
				oldest = o
			}
		}
		delete(s.sessions, oldest.id)
	}
	s.sessions[c.id] = c
	stdout := s.stdout
	s.mu.Unlock()
	if oldest != nil {
		oldest.close()
	}
	if stdout != nil {
		c.open(stdout)
	}
}

func (s *Server) remove(c *session) {
	s.mu.Lock()
	delete(s.sessions, c.id)
	s.mu.Unlock()
	c.close()
}

// touch marks the session as used now.
func (c *session) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSeen = time.Now()
}

// idleSince returns when the session was last used. A session with a stream or a call is in use.
func (c *session) idleSince() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.streams) > 0 || len(c.calls) > 0 {
		return time.Now()
	}
	return c.lastSeen
}

// response renders the answer to a request.
func response(id []byte, result any, err error) []byte {
	var raw []byte
	if err == nil {
		raw, err = marshal(result)
	}
	if err == nil {
		return protocol.AppendResult(nil, id, raw)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return protocol.AppendError(nil, id, e.Code, e.Message, e.Data)
	}
	return failure(id, codeInternal, err.Error())
}

// marshal is json.Marshal without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// failure renders an error. Without an id it uses null, as legacy clients expect.
func failure(id []byte, code int, message string) []byte {
	if id == nil {
		id = []byte("null")
	}
	return protocol.AppendError(nil, slices.Clone(id), code, message, nil)
}
