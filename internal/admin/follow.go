package admin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

const (
	maxEventLine = 1 << 20                // maximum size of a line of the stream, in bytes
	followMin    = 250 * time.Millisecond // delay before the first reconnection
	followMax    = 5 * time.Second        // maximum delay between reconnections
	followQuiet  = 3 * eventBeat          // a stream without any byte for this long is considered dead
)

// ErrNoStream is returned by Follow if the gateway did not open a stream of changes.
var ErrNoStream = errors.New("the gateway does not report catalog changes")

// FollowEvent is an event of a Follower. Exactly one field is set, except that Restarted occurs with Back.
type FollowEvent struct {
	Change    *status.CatalogChange
	Missed    uint64 // number of changes that were lost
	Lost      error  // why the stream was lost; it is being reopened
	Back      bool   // the stream is open again and continues where it ended, unless Restarted
	Restarted bool   // with Back: the gateway was restarted; changes in between are unknown
}

// Follower reports catalog changes of the gateway with an admin socket. It reconnects whenever its stream is lost, as often as
// necessary. A Follower supports a single call of Follow.
type Follower struct {
	Path string
	Past bool                    // start with the stored changes
	Tell func(FollowEvent) error // called for each event, one at a time; its error ends Follow

	last string // id of the last event; "" = none yet
	boot string
	away bool // Lost was reported, Back was not yet
}

// Follow blocks until ctx ends, Tell returns an error, or the first connection fails. It returns the reason.
func (f *Follower) Follow(ctx context.Context) error {
	if len(f.Path) > maxSocketPath {
		return fmt.Errorf("admin socket %s: %w", f.Path, ErrPathTooLong)
	}
	pause := followMin
	for {
		err := f.stream(ctx, &pause)
		var refused *callbackError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &refused):
			return refused.err
		case f.last == "":
			return fmt.Errorf("admin socket %s: %w", f.Path, err)
		}
		if !f.away {
			f.away = true
			if err := f.Tell(FollowEvent{Lost: err}); err != nil {
				return err
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, followMax)
	}
}

// Started reports whether a stream was ever open.
func (f *Follower) Started() bool { return f.last != "" }

// callbackError wraps an error returned by Tell.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// stream reads one stream to its end. Its error is never nil.
func (f *Follower) stream(ctx context.Context, pause *time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := "http://admin/eventz?want=catalog"
	if f.last == "" && !f.Past {
		query += "&after=now"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, query, nil)
	if err != nil {
		return err
	}
	if f.last != "" {
		req.Header.Set("Last-Event-ID", f.last)
	}
	resp, err := client(f.Path).Do(req)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err) // without the URL, which is a placeholder
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("%w: %s: %q", ErrNoStream, resp.Status, strings.TrimSpace(string(text)))
	}
	*pause = followMin
	quiet := time.AfterFunc(followQuiet, cancel)
	defer quiet.Stop()
	return f.read(resp.Body, func() { quiet.Reset(followQuiet) })
}

// read reports the events of a stream. It calls alive for each line.
func (f *Follower) read(body io.Reader, alive func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEventLine)
	var name, id, data string
	for lines.Scan() {
		alive()
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "event":
			name = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if lines.Text() != "" || name == "" {
				continue // a comment, or the blank line after one
			}
			e, ok, err := f.event(name, data)
			if err != nil {
				return fmt.Errorf("decode %s: %w", name, err)
			}
			f.last, name = id, ""
			if ok {
				if err := f.Tell(e); err != nil {
					return &callbackError{err}
				}
			}
		}
	}
	return cmp.Or(lines.Err(), io.EOF)
}

// event converts an event of the stream. ok is false if there is nothing to report.
func (f *Follower) event(name, data string) (e FollowEvent, ok bool, err error) {
	switch name {
	case eventHello:
		var hello changesHello
		err = decode.JSON([]byte(data), "an event", &hello)
		e.Back, e.Restarted = f.away, f.boot != hello.Boot
		f.away, f.boot = false, hello.Boot
		return e, e.Back, err
	case eventChange:
		e.Change = new(status.CatalogChange)
		return e, true, decode.JSON([]byte(data), "an event", e.Change)
	case eventLost:
		var lost changesLost
		err = decode.JSON([]byte(data), "an event", &lost)
		e.Missed = lost.Lost
		return e, true, err
	}
	return e, false, nil
}
