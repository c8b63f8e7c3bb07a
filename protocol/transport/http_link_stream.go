package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"goblin-actor/protocol"
)

const (
	httpLinkResumes = 5           // attempts in a row to take up a broken answer again without an event coming
	httpLinkRetry   = time.Second // pause before it when the server names none
)

// stream tells the frames of an answer that is an event stream. A stream that ends before the answer is taken up again
// where it ended if the server has given it event ids. MCP 2025-11-25, basic/transports#resumability-and-redelivery.
func (w *httpLinkWorker) stream(c *httpLinkCall) (clean bool, err error) {
	w.sse.lastID, w.sse.retry = "", 0
	tries := 0
	for {
		clean, err = w.events(c)
		if w.sse.events > 0 {
			tries = 0
		}
		if !c.Request || c.ended || w.sse.lastID == "" || c.session == "" || tries == httpLinkResumes || errors.Is(err, ErrFrameTooLarge) {
			break
		}
		tries++
		again, reason := w.resume(c, tries)
		if reason != nil {
			return false, reason
		}
		if !again {
			w.sse.reset(http.NoBody) // that attempt failed: the next one
		}
	}
	if err == nil && c.Request {
		err = ErrNoAnswer
	}
	return clean, err
}

// events tells frames until the stream ends. clean: it ended as it should.
func (w *httpLinkWorker) events(c *httpLinkCall) (clean bool, err error) {
	var linger *time.Timer
	for {
		data, err := w.sse.next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		told, alone := error(nil), !protocol.IsBatch(data)
		err = linkParse(data, func(f *protocol.Frame) error {
			if alone {
				f.Memory = w.sse.memory
			}
			told = w.frame(c, f, httpLinkIsResponse(f))
			return told
		})
		if told != nil {
			return false, told
		}
		if err != nil {
			if told = w.link.tell(linkNoise(data, err)); told != nil {
				return false, told
			}
		}
		if c.ended && linger == nil {
			linger = time.AfterFunc(httpLinkLinger, func() { c.cancel(context.Canceled) })
			defer linger.Stop()
		}
	}
}

// resume waits and asks for the rest of the stream. again: it goes on. The error is final.
func (w *httpLinkWorker) resume(c *httpLinkCall, tries int) (again bool, final error) {
	pause := w.sse.retry
	if pause <= 0 {
		pause = httpLinkRetry
	}
	w.link.trip.done(&w.answer, false)
	if err := httpLinkPause(c, pause*time.Duration(tries)); err != nil {
		return false, err
	}
	r := httpLinkRequest{verb: http.MethodGet, head: w.link.current(), lastEvent: w.sse.lastID}
	a := &w.answer
	if err := w.link.trip.send(c, &r, a); err != nil {
		return false, c.canceled()
	}
	if a.status == http.StatusOK && a.sse && !a.encoded {
		w.sse.reset(a.body)
		return true, nil
	}
	if a.status >= 500 || a.status == http.StatusTooManyRequests {
		return false, nil
	}
	return false, ErrNoAnswer
}

// httpLinkPause waits; it returns early with the cause when the call is canceled.
func httpLinkPause(c *httpLinkCall, d time.Duration) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.hold(httpLinkCancel(cancel)); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return c.hold(nil)
}
