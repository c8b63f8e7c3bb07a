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

// front answers the messages of a Server's clients; it is the downstream.Handler of one run.
type front struct {
	*Server
	ctx   context.Context // ends with the run
	stdio bool            // one client, one session ""

	running sync.WaitGroup // its requests

	modernRunning int                                // of modern clients; guarded by mu, like:
	modernCalls   map[string]context.CancelCauseFunc // on stdio, by request id
}

// Post answers one message. Requests run in a goroutine of their own.
func (f *front) Post(x *downstream.Exchange) {
	if downstream.RouteMessages.Ends(x.Origin.Path) && !f.redirect(x) {
		return
	}
	if f.stdio && x.Batch == nil && x.Frame.M == protocol.NotificationCancelled { // it does not say its era; over HTTP the client closes the stream
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
	case x.Frame.Kind == protocol.KindRequest && x.Frame.M == protocol.MethodInitialize:
		f.initialize(x)
		return
	}
	c := f.find(x.Origin.SessionID)
	before := f.stdio || downstream.RouteMessages.Ends(x.Origin.Path) // there is a way to answer on before initialize
	switch {
	case c != nil:
	case x.Frame.Kind == protocol.KindRequest && before:
		answerEarly(x)
		return
	case before:
		x.Accept()
		return
	case x.Origin.SessionID == "": // MCP 2025-11-25, basic/transports: 400 without a session, 404 with one unknown
		x.Refuse(http.StatusBadRequest, failure(nil, codeInvalidRequest, "Mcp-Session-Id is missing: send initialize first"), 0)
		return
	default:
		x.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "no such session: send initialize again"), 0)
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

// answerEarly answers a request on stdio or HTTP+SSE before initialize: only ping is allowed.
func answerEarly(x *downstream.Exchange) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	switch x.Frame.M {
	case protocol.MethodPing:
		x.Answer(protocol.Message{Frame: protocol.AppendResult(nil, id, []byte("{}"))})
	case protocol.MethodServerDiscover, protocol.MethodOther:
		x.Answer(protocol.Message{Frame: failure(id, codeMethodNotFound, "method not found")})
	default:
		x.Answer(protocol.Message{Frame: failure(id, codeInvalidRequest, "not initialized: send initialize first")})
	}
}

func (c *session) notified(x *downstream.Exchange) {
	switch x.Frame.M {
	case protocol.NotificationInitialized:
		c.initialized()
	case protocol.NotificationCancelled:
		if id := x.Params.RequestID.Of(x.Frame.Raw); id != nil {
			c.cancel(string(id))
		}
	}
}

// request runs one request and answers it. A cancelled one is not answered: its exchange just ends.
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

// initialize begins a session. MCP 2025-11-25, basic/lifecycle.
func (f *front) initialize(x *downstream.Exchange) {
	id := x.Frame.ID.Of(x.Frame.Raw)
	if f.find(x.Origin.SessionID) != nil {
		x.Refuse(http.StatusBadRequest, failure(id, codeInvalidRequest, "this session is initialized already"), 0)
		return
	}
	asked, ok := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
	if !ok {
		x.Answer(protocol.Message{Frame: failure(id, codeInvalidParams, "protocolVersion: want a string")})
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

// Open takes the client's stream for what belongs to no request. On stdio it is there before the session.
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
		stream.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "no such session"), 0)
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
		x.Refuse(http.StatusNotFound, failure(nil, codeInvalidRequest, "no such session"), 0)
		return
	}
	f.remove(c)
	x.Accept()
}

// find returns the session of that id and notes that it was used; nil if there is none.
func (s *Server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c != nil {
		c.touch()
	}
	return c
}

// add keeps a new session; when there are too many, the one idle longest without a stream goes.
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

// touch notes that the client was heard of.
func (c *session) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSeen = time.Now()
}

// idleSince is when the client was last heard of; one with a stream or a call counts as heard of now.
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

// marshal is json.Marshal without the escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// failure renders an error; without an id it says null, as legacy clients expect.
func failure(id []byte, code int, message string) []byte {
	if id == nil {
		id = []byte("null")
	}
	return protocol.AppendError(nil, slices.Clone(id), code, message, nil)
}
