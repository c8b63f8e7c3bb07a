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
	watchPing = 30 * time.Second       // interval between pings
	watchMin  = 250 * time.Millisecond // first delay before reconnecting
	watchMax  = 5 * time.Second        // longest delay
)

// WatchKind is the kind of a WatchEvent.
type WatchKind string

// Kinds of events.
const (
	WatchContents WatchKind = "contents" // Result holds the current contents
	WatchFailed   WatchKind = "error"    // the resource cannot be read because of Err
	WatchLost     WatchKind = "lost"     // the connection is lost because of Err; the watcher reconnects
	WatchBack     WatchKind = "back"     // the connection is restored
)

// WatchEvent is an event of a Watcher.
type WatchEvent struct {
	Kind   WatchKind
	Result json.RawMessage // result of resources/read
	Err    error
}

// Watcher follows one resource. It reports the contents at the start and after each update. Updates that arrive
// during a read count as one. It reconnects as often as necessary, and then reports the contents if they have
// changed. Watch may be called once.
type Watcher struct {
	URI  string
	Dial func(ctx context.Context, o Options) (*Client, error)
	// Options are passed to Dial. The watcher sets OnNotification and OnLost.
	Options Options
	// Tell receives events, one at a time. If it returns an error, Watch ends.
	Tell func(WatchEvent) error

	updated chan struct{} // capacity 1
	doubt   chan struct{} // capacity 1: the connection may be lost
	pause   time.Duration // delay before the next connection attempt
	last    []byte        // last reported contents; nil if none
	away    bool          // WatchLost was reported, WatchBack was not
	refused error         // returned by Tell
}

// Watch blocks until ctx ends, Tell returns an error, the gateway rejects the API key, or the first connection or read
// fails. It returns the reason.
func (w *Watcher) Watch(ctx context.Context) error {
	w.updated, w.doubt, w.pause = make(chan struct{}, 1), make(chan struct{}, 1), watchMin
	o := w.Options
	o.OnNotification = func(method string, _ json.RawMessage) {
		if protocol.ParseMethod([]byte(method)) == protocol.NotificationResourcesUpdated {
			signal(w.updated) // there is only one subscription
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
			return err // the first connection or read failed
		}
		w.rest(ctx)
	}
}

// rest waits before the next attempt. The delay grows each time.
func (w *Watcher) rest(ctx context.Context) {
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	w.pause = min(2*w.pause, watchMax)
}

// follow subscribes and reports until the connection is lost, ctx ends or Tell returns an error. Its error is never nil.
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

// ping pings the gateway with a time limit of connectTime.
func (c *Client) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	return c.Ping(ctx)
}

// read reads the resource and reports its contents. If again is true, it reports them only if they have changed. An
// error response is reported, too; but if no read has succeeded yet, or the API key was rejected, read returns it.
// All other errors are returned.
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

// unauthenticated reports whether the gateway has rejected the API key, so that a retry is useless.
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
