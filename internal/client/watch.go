package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"goblin-actor/protocol"
)

const (
	watchPing = 30 * time.Second       // how often a quiet connection is asked for a sign of life
	watchMin  = 250 * time.Millisecond // first pause before connecting again
	watchMax  = 5 * time.Second        // longest
)

// WatchKind says what a WatchEvent is.
type WatchKind string

// What a watcher tells of.
const (
	WatchContents WatchKind = "contents" // Result holds the resource as it is now
	WatchFailed   WatchKind = "error"    // it cannot be read now: Err
	WatchLost     WatchKind = "lost"     // the connection is: Err; it is being made again
	WatchBack     WatchKind = "back"     // the connection is
)

// WatchEvent is one thing a watcher tells.
type WatchEvent struct {
	Kind   WatchKind
	Result json.RawMessage // of resources/read
	Err    error
}

// Watcher follows one resource: its contents at once, and again after each update. Updates that come while one is
// being read count as one. When the connection is lost it is made again for as long as it takes, and the contents
// are told if they changed meanwhile. One Watch a Watcher.
type Watcher struct {
	URI  string
	Dial func(ctx context.Context, o Options) (*Client, error)
	// Options for Dial; OnNotification and OnLost are the watcher's own.
	Options Options
	// Tell is told what happens, one at a time; an error it returns ends Watch.
	Tell func(WatchEvent) error

	updated chan struct{} // capacity 1
	doubt   chan struct{} // capacity 1: the connection may be lost
	pause   time.Duration // before the next attempt to connect
	last    []byte        // contents told last; nil = none yet
	away    bool          // WatchLost was told, WatchBack was not
	refused error         // by Tell
}

// Watch blocks until ctx ends, Tell returns an error, the gateway lets us in no more, or the resource cannot be had in the first place; it
// returns why.
func (w *Watcher) Watch(ctx context.Context) error {
	w.updated, w.doubt, w.pause = make(chan struct{}, 1), make(chan struct{}, 1), watchMin
	o := w.Options
	o.OnNotification = func(method string, _ json.RawMessage) {
		if protocol.ParseMethod([]byte(method)) == protocol.NotificationResourcesUpdated {
			signal(w.updated) // whatever it names: we subscribed to nothing else
		}
	}
	o.OnLost = func(error) { signal(w.doubt) }
	for {
		c, err := w.Dial(ctx, o)
		if err == nil {
			err = w.follow(ctx, c)
			c.Close()
		}
		if unauthenticated(err) {
			return err
		}
		if ctx.Err() == nil && w.refused == nil && w.last != nil && !w.away {
			w.away = true
			w.tell(WatchEvent{Kind: WatchLost, Err: err})
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.refused != nil:
			return w.refused
		case w.last == nil:
			return err // it never was there
		}
		w.rest(ctx)
	}
}

// rest waits before the next attempt, longer each time.
func (w *Watcher) rest(ctx context.Context) {
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	w.pause = min(2*w.pause, watchMax)
}

// follow subscribes and tells until the connection is lost, ctx ends or Tell refuses; the error is never nil.
func (w *Watcher) follow(ctx context.Context, c *Client) error {
	c.Listen()
	if err := c.Subscribe(ctx, w.URI); err != nil {
		return err
	}
	w.pause = watchMin
	if w.away {
		w.away = false
		w.tell(WatchEvent{Kind: WatchBack})
	}
	if err := w.read(ctx, c, true); err != nil {
		return err
	}
	quiet := time.NewTicker(watchPing)
	defer quiet.Stop()
	for w.refused == nil {
		var err error
		select {
		case <-w.updated:
			err = w.read(ctx, c, false)
		case <-w.doubt:
			err = c.ping(ctx)
		case <-quiet.C:
			err = c.ping(ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return w.refused
}

// ping gives the gateway connectTime for a sign of life.
func (c *Client) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return c.Ping(ctx)
}

// read reads the resource and tells its contents; again: only if they changed. That a server cannot give them now is
// told, and an error only if it never could.
func (w *Watcher) read(ctx context.Context, c *Client, again bool) error {
	result, err := c.Read(ctx, w.URI)
	if _, answered := errors.AsType[*RPCError](err); answered && w.last != nil && !unauthenticated(err) {
		w.tell(WatchEvent{Kind: WatchFailed, Err: err})
		return nil
	}
	if err != nil {
		return err
	}
	if !again || !bytes.Equal(result, w.last) {
		w.last = result
		w.tell(WatchEvent{Kind: WatchContents, Result: result})
	}
	return nil
}

func (w *Watcher) tell(e WatchEvent) {
	if w.refused == nil {
		w.refused = w.Tell(e)
	}
}

// unauthenticated reports whether the gateway has answered that our key does not count, or no longer: to ask again changes nothing.
func unauthenticated(err error) bool {
	e, answered := errors.AsType[*RPCError](err)
	return answered && e.Name() == string(protocol.Unauthenticated)
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
