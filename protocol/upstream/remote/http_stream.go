package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	resumeTries = 5           // maximum consecutive attempts to resume a response that yield no event
	resumePause = time.Second // pause before an attempt, unless the server sets one
)

// stream reports the frames of an event stream. If the stream of a session ends before the response message and its
// events have ids, stream resumes it where it ended. MCP 2025-11-25, basic/transports#resumability-and-redelivery.
func (w *worker) stream(c *exchange) (clean bool, err error) {
	w.sse.LastID, w.sse.Retry = "", 0
	tries := 0
	for {
		clean, err = w.events(c)
		if w.sse.Events > 0 {
			tries = 0
		}
		if !c.Request || c.ended || w.sse.LastID == "" || c.session == "" || tries == resumeTries || errors.Is(err, stream.ErrFrameTooLarge) || cannotDecode(err) {
			break
		}
		tries++
		again, reason := w.resume(c, tries)
		if reason != nil {
			return false, reason
		}
		if !again {
			w.sse.Reset(http.NoBody) // the attempt failed; try the next one
		}
	}
	if err == nil && c.Request {
		err = upstream.ErrNoAnswer
	}
	return clean, err
}

// events reports frames until the stream ends. clean means that it ended normally.
func (w *worker) events(c *exchange) (clean bool, err error) {
	var linger *time.Timer
	for {
		data, err := w.sse.Next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		data = protocol.Trim(data)
		sinkErr, alone := error(nil), !protocol.IsBatch(data)
		err = upstream.Parse(data, func(f *protocol.Frame) error {
			if alone {
				f.Memory = w.sse.Memory
			}
			sinkErr = w.frame(c, f, isResponse(f))
			return sinkErr
		})
		if sinkErr != nil {
			return false, sinkErr
		}
		if err != nil {
			if sinkErr = w.link.report(upstream.NoiseOf(data, err)); sinkErr != nil {
				return false, sinkErr
			}
		}
		if c.ended && linger == nil {
			linger = time.AfterFunc(lingerFor, func() { c.cancel(context.Canceled) })
			defer linger.Stop()
		}
	}
}

// resume waits and requests the rest of the stream. again means that it continues. An error is final.
func (w *worker) resume(c *exchange, tries int) (again bool, final error) {
	pause := w.sse.Retry
	if pause <= 0 {
		pause = resumePause
	}
	w.link.transport.done(&w.answer, false)
	if err := pauseFor(c, pause*time.Duration(tries)); err != nil {
		return false, err
	}
	r := httpRequest{verb: http.MethodGet, head: w.link.current(), lastEvent: w.sse.LastID}
	a := &w.answer
	if err := w.link.transport.send(c, &r, a); err != nil {
		return false, c.canceled()
	}
	if a.status == http.StatusOK && a.sse && a.unreadable == nil {
		w.sse.Reset(a.body)
		return true, nil
	}
	if a.status >= 500 || a.status == http.StatusTooManyRequests {
		return false, nil
	}
	return false, upstream.ErrNoAnswer
}

// pauseFor waits for d. If the exchange is canceled, it returns the cause at once.
func pauseFor(c *exchange, d time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.setStop(cancelFunc(cancel)); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return c.setStop(nil)
}
