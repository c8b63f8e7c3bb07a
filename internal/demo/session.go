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

// errLeft is the cause of a call's end when its session ended.
var errLeft = errors.New("the client has left")

// errCancelled is the cause of a call's end when the client cancelled it.
var errCancelled = errors.New("cancelled by the client")

// session is one client. Its first fields are fixed at initialize, mu guards the rest.
type session struct {
	id           string
	version      string
	capabilities json.RawMessage
	ctx          context.Context // parent of its calls
	end          context.CancelCauseFunc
	replay       *downstream.Replay // what was said on its HTTP streams; nil = they cannot be resumed

	mu         sync.Mutex
	ready      bool           // notifications/initialized came
	level      protocol.Level // below it nothing is logged
	subscribed map[string]bool
	streams    []*downstream.EventStream // the first takes what belongs to no request
	missed     []missed                  // kept while there is no stream or the client is not ready; bounded by its keys
	calls      map[string]context.CancelCauseFunc
	questions  map[uint64]chan answer
	lastID     uint64
	lastSeen   time.Time
}

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

// knows reports whether the session speaks version or a newer one; versions are dates and compare as text.
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

// begin registers a running call; ok is false when there are too many or the id is already in use.
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

// finish forgets a running call.
func (c *session) finish(id string) {
	c.mu.Lock()
	cancel := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel(nil)
	}
}

// cancel ends a running call; an id that is not running is ignored.
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

// answered hands the client's answer to whoever asked; an answer nobody waits for is ignored.
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
		refusal = &Error{Code: codeInternal, Message: "unreadable error"}
	}
	ch <- answer{err: refusal}
}

// tell sends the client a notification that belongs to no request. While the client has no stream, or has not
// said that it is ready, the newest frame of each key is kept.
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

// push hands the frame to the first stream that takes it. Pushing never blocks.
func (c *session) push(key string, frame []byte) bool {
	return slices.ContainsFunc(c.streams, func(s *downstream.EventStream) bool {
		return s.Push(protocol.Message{Frame: frame}, downstream.WeightState, key)
	})
}

// flush sends what was missed.
func (c *session) flush() {
	if !c.ready {
		return
	}
	for len(c.missed) > 0 && c.push(c.missed[0].key, c.missed[0].frame) {
		c.missed = slices.Delete(c.missed, 0, 1)
	}
}

// initialized: the client is ready for what belongs to no request.
func (c *session) initialized() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
	c.flush()
}

// open adds a stream and removes it again when it is over.
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
