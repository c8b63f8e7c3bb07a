package demo

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// errLeft is the cause for calls whose session has ended.
var errLeft = errors.New("the session has ended")

// errCancelled is the cause for calls that the client canceled.
var errCancelled = errors.New("canceled by the client")

// session is a client's session. The first fields are fixed at initialize; mu guards the rest.
type session struct {
	id           string
	version      string
	capabilities json.RawMessage
	ctx          context.Context // parent of its calls
	end          context.CancelCauseFunc
	replay       *downstream.Replay // events of its HTTP streams; nil = not resumable

	mu         sync.Mutex
	ready      bool           // notifications/initialized was received
	level      protocol.Level // minimum level of log messages
	subscribed map[string]bool
	streams    []*downstream.EventStream // a message that belongs to no request is sent on the first one that accepts it
	missed     []missed                  // messages kept until the client is ready and has a stream; one per key
	calls      map[string]context.CancelCauseFunc
	questions  map[uint64]chan answer
	lastID     uint64
	lastSeen   time.Time
}

// missed is a message that waits until the client is ready and has a stream.
type missed struct {
	key   string
	frame []byte
}

type answer struct {
	result json.RawMessage
	err    error
}

func newSession(ctx context.Context, id, version string, capabilities []byte) *session {
	c := &session{
		id: id, version: version, capabilities: slices.Clone(capabilities),
		subscribed: map[string]bool{}, calls: map[string]context.CancelCauseFunc{}, questions: map[uint64]chan answer{},
		lastSeen: time.Now(), level: protocol.LevelDebug,
	}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c
}

// knows reports whether the session's version is version or newer. Versions are dates and compare as text.
func (c *session) knows(version string) bool { return c.version >= version }

func (c *session) logs(level string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level.Admits(protocol.Level(level))
}

func (c *session) wants(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscribed[uri]
}

// begin registers a call. ok is false if there are too many calls or the id is in use.
func (c *session) begin(id string) (ctx context.Context, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.calls[id]; twice || len(c.calls) >= maxCalls {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.calls[id] = cancel
	return ctx, true
}

// finish removes a call.
func (c *session) finish(id string) {
	c.mu.Lock()
	cancel := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

// cancel cancels a call. Unknown ids are ignored.
func (c *session) cancel(id string) {
	c.mu.Lock()
	cancel := c.calls[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

func (c *session) asking() (uint64, <-chan answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	ch := make(chan answer, 1)
	c.questions[c.lastID] = ch
	return c.lastID, ch
}

func (c *session) asked(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.questions, id)
}

// answered passes the client's answer to the waiting call. Other answers are ignored.
func (c *session) answered(f *protocol.Frame) {
	var id uint64
	if json.Unmarshal(f.ID.Of(f.Raw), &id) != nil {
		return
	}
	c.mu.Lock()
	ch := c.questions[id]
	delete(c.questions, id)
	c.mu.Unlock()
	if ch == nil {
		return
	}
	if f.Kind == protocol.KindResult {
		ch <- answer{result: slices.Clone(f.Result.Of(f.Raw))}
		return
	}
	refusal := &Error{}
	if json.Unmarshal(f.Error.Of(f.Raw), refusal) != nil {
		refusal = &Error{Code: codeInternal, Message: "malformed error"}
	}
	ch <- answer{err: refusal}
}

// tell sends a notification that belongs to no request. Until the client is ready and has a stream, it keeps
// the newest frame per key.
func (c *session) tell(key string, frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready && c.push(key, frame) {
		return
	}
	for i := range c.missed {
		if c.missed[i].key == key {
			c.missed[i].frame = frame
			return
		}
	}
	c.missed = append(c.missed, missed{key, frame})
}

// push sends the frame on the first stream that accepts it. It never blocks.
func (c *session) push(key string, frame []byte) bool {
	return slices.ContainsFunc(c.streams, func(s *downstream.EventStream) bool {
		return !s.Push(protocol.Message{Frame: frame}, downstream.WeightState, key).Over
	})
}

// flush sends the missed messages. The caller must hold mu.
func (c *session) flush() {
	if !c.ready {
		return
	}
	for len(c.missed) > 0 && c.push(c.missed[0].key, c.missed[0].frame) {
		c.missed = slices.Delete(c.missed, 0, 1)
	}
}

// initialized marks the client as ready for messages that belong to no request.
func (c *session) initialized() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	c.flush()
}

// open adds a stream until it ends.
func (c *session) open(s *downstream.EventStream) {
	c.mu.Lock()
	c.streams = append(c.streams, s)
	c.flush()
	c.mu.Unlock()
	s.OnGone(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams = slices.DeleteFunc(c.streams, func(o *downstream.EventStream) bool { return o == s })
	})
}

// close ends the session's calls and streams.
func (c *session) close() {
	c.end(errLeft)
	c.mu.Lock()
	streams := slices.Clone(c.streams)
	c.mu.Unlock()
	if c.replay != nil {
		c.replay.Close()
	}
	for _, s := range streams {
		s.Close()
	}
}
