package remote

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	listenPauseMin   = 500 * time.Millisecond // first pause before the GET stream is reopened, unless the server sets one
	listenPauseMax   = 30 * time.Second       // maximum pause
	retryFloor       = 100 * time.Millisecond // minimum for a pause set by the server
	listenLongEnough = 10 * time.Second       // a stream that lasted this long does not count as failed
)

var errStreamEnded = errors.New("the server closed the stream")

// Listen opens the GET stream, unless it is open. A goroutine keeps it open until the server refuses it, the session is
// lost, or the link is closed.
func (l *httpLink) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || l.listener != nil {
		return
	}
	l.listener = &exchange{}
	listener := &listener{link: l, call: l.listener, sse: stream.NewEventReader(l.o.MaxMessageBytes, l.o.Budget)}
	l.running.Go(listener.run)
}

// listener keeps the GET stream open, on its own connection.
type listener struct {
	link   *httpLink
	call   *exchange
	answer httpAnswer
	sse    stream.EventReader
	open   string // the last session whose stream was open
}

func (g *listener) run() {
	defer func() {
		g.sse.Rope.Reset()
		g.link.mu.Lock()
		g.link.listener = nil
		g.link.mu.Unlock()
	}()
	<-g.link.opened
	failures, session := 0, ""
	for {
		head := g.link.current()
		if head.session != session {
			session, g.sse.LastID = head.session, ""
		}
		began := time.Now()
		final, err := g.once(head)
		if g.call.canceled() != nil {
			return
		}
		if errors.Is(err, upstream.ErrSessionLost) {
			if g.link.dropSession(session) {
				_ = g.link.report(upstream.SessionLost{})
			}
			return
		}
		if g.link.report(upstream.ListenFailed{Err: readable(err), Final: final}) != nil || final {
			return
		}
		failures++
		if g.sse.Events > 0 || time.Since(began) >= listenLongEnough {
			failures = 0
		}
		if pauseFor(g.call, listenPause(failures, g.sse.Retry)) != nil {
			return
		}
	}
}

// listenPause returns the pause after a number of consecutive failures. Half of it is jitter, so that the clients of a
// restarted server do not return at the same time. After at most one failure, a pause set by the server is not
// shortened.
func listenPause(failures int, retry time.Duration) time.Duration {
	pause := listenPauseMin
	if retry > 0 {
		pause = max(retry, retryFloor)
	}
	limit := max(pause, listenPauseMax)
	for range min(failures, 16) {
		pause = min(2*pause, limit)
	}
	if retry > 0 && failures <= 1 {
		return pause + rand.N(pause/4+1) // not earlier than the server allows
	}
	return pause/2 + rand.N(pause/2+1)
}

// once opens the stream and reports its messages until it ends. final means that retrying is useless.
func (g *listener) once(head *head) (final bool, err error) {
	g.sse.Events = 0
	r := httpRequest{verb: http.MethodGet, head: head, lastEvent: g.sse.LastID}
	a := &g.answer
	if err := g.link.transport.send(g.call, &r, a); err != nil {
		return false, err
	}
	defer func() {
		_ = g.call.setStop(nil)
		g.link.transport.done(a, false)
	}()
	if a.status != http.StatusOK {
		return g.refused(head)
	}
	if a.unreadable != nil {
		return true, a.unreadable
	}
	if !a.sse {
		return true, errors.New("the GET response is not an event stream")
	}
	g.open = head.session
	if err := g.link.report(upstream.Listening{}); err != nil {
		return false, err
	}
	g.sse.Reset(a.body)
	for {
		data, err := g.sse.Next()
		switch {
		case err == io.EOF:
			return false, errStreamEnded
		case errors.Is(err, stream.ErrFrameTooLarge), errors.Is(err, stream.ErrOverBudget):
			err = g.link.report(upstream.Noise{Err: fmt.Errorf("read stream: %w", err)})
		case err == nil:
			err = g.frames(data)
		}
		if err != nil {
			return false, err
		}
	}
}

func (g *listener) frames(data []byte) error {
	var sinkErr error
	err := upstream.Parse(data, func(f *protocol.Frame) error {
		sinkErr = g.link.report(upstream.Received{Frame: *f})
		return sinkErr
	})
	if err != nil && sinkErr == nil {
		sinkErr = g.link.report(upstream.NoiseOf(data, err))
	}
	return sinkErr
}

// refused interprets a status other than 200. A 404 means a lost session only if the session had a stream before, since
// servers without GET send it, too. Otherwise the next POST shows whether the session is lost.
func (g *listener) refused(head *head) (final bool, err error) {
	a := &g.answer
	body, _ := io.ReadAll(io.LimitReader(a.body, errorBodyBytes))
	if g.open == head.session && isLost(&exchange{session: head.session}, a.status, body) {
		return true, upstream.ErrSessionLost
	}
	refusal := head.site.refusal(a, body)
	if refusal.RetryAfter > 0 {
		g.sse.Retry = min(refusal.RetryAfter, stream.MaxRetry)
	}
	again := refusal.Temporary() && a.status != http.StatusMethodNotAllowed
	return !again, refusal
}
