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

	"goblin-actor/internal/status"
)

const (
	followMin   = 500 * time.Millisecond // delay before the first reconnection
	followMax   = 10 * time.Second       // maximum delay between reconnections
	followQuiet = 3 * eventBeat          // a stream without any byte for this long is considered dead
)

// ErrNoStream is returned if the gateway did not open a stream of events.
var ErrNoStream = errors.New("the gateway does not report its events")

// reader reads a stream of events of an admin socket. It reopens the stream whenever it is lost, as often as necessary.
type reader struct {
	path  string
	query string                            // of /eventz
	event func(name, id, data string) error // called for each event; an error reopens the stream after the event, a callbackError ends run
	lost  func(error) error                 // called when the stream is lost; its error ends run
	last  string                            // id of the last event; "" = none yet
	pause time.Duration                     // until the next reconnection
}

// callbackError wraps an error returned by a stream's callback.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// eventError wraps the error of an event that cannot be decoded, or contradicts earlier events.
type eventError struct {
	name string
	err  error
}

func (e *eventError) Error() string { return "event " + e.name + ": " + e.err.Error() }
func (e *eventError) Unwrap() error { return e.err }

// asCallbackError wraps an error returned by a stream's callback in a *callbackError, which ends run. It returns nil for nil.
func asCallbackError(err error) error {
	if err == nil {
		return nil
	}
	return &callbackError{err}
}

// run blocks until ctx ends, a callback returns an error, or the first connection fails. It returns the reason.
func (r *reader) run(ctx context.Context) error {
	if err := checkAddress(r.path); err != nil {
		return err
	}
	opened := false
	for {
		pause := r.pause
		err := r.stream(ctx, &opened)
		if _, invalid := errors.AsType[*eventError](err); invalid { // the next stream may begin with the same event
			r.pause = max(pause, followMin)
		}
		refused, ends := errors.AsType[*callbackError](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ends:
			return refused.err
		case !opened:
			return fmt.Errorf("admin socket %s: %w", r.path, err)
		}
		if err := r.lost(err); err != nil {
			return err
		}
		wait := time.NewTimer(r.pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		r.pause = min(2*r.pause, followMax)
	}
}

// stream reads one stream to its end. Its error is never nil.
func (r *reader) stream(ctx context.Context, opened *bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin/eventz?"+r.query, nil)
	if err != nil {
		return err
	}
	if r.last != "" {
		req.Header.Set("Last-Event-ID", r.last)
	}
	resp, err := client(r.path).Do(req)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err) // without the URL, which is a placeholder
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return status.ErrTooManyStreams
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("%w: %s: %q", ErrNoStream, resp.Status, strings.TrimSpace(string(text)))
	}
	*opened, r.pause = true, followMin
	quiet := time.AfterFunc(followQuiet, cancel)
	defer quiet.Stop()
	return r.read(resp.Body, func() { quiet.Reset(followQuiet) })
}

// read reports the events of a stream. It calls alive for each line.
func (r *reader) read(body io.Reader, alive func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxStatusBytes)
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
			r.last = id
			err := r.event(name, id, data)
			if _, ends := errors.AsType[*callbackError](err); ends {
				return err
			} else if err != nil {
				return &eventError{name, err}
			}
			name, data = "", ""
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) && id != "" {
		r.last = id
		return &eventError{name, err}
	}
	return cmp.Or(lines.Err(), io.EOF)
}
