package transport

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"goblin-actor/protocol"
)

const (
	httpLinkListenMin  = 500 * time.Millisecond // first pause before the GET stream is opened again, if the server names none
	httpLinkListenMax  = 30 * time.Second       // longest
	httpLinkRetryFloor = 100 * time.Millisecond // a server that asks for less gets this
	httpLinkListenLong = 10 * time.Second       // a stream that lived so long did not fail
)

var errLinkStreamEnded = errors.New("the server closed the stream")

// Listen opens the GET stream, unless it is open; a goroutine keeps it open until the server refuses it, the session is
// lost or the link closed.
func (l *httpLink) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || l.listener != nil {
		return
	}
	l.listener = &httpLinkCall{}
	listener := &httpLinkListener{link: l, call: l.listener, sse: newSSEReader(l.o.MaxMessageBytes, l.o.Budget)}
	l.running.Go(listener.run)
}

// httpLinkListener keeps one GET stream open, on a connection that nothing else uses.
type httpLinkListener struct {
	link   *httpLink
	call   *httpLinkCall
	answer httpLinkAnswer
	sse    sseReader
	open   string // the session whose stream was open once
}

func (g *httpLinkListener) run() {
	defer func() {
		g.sse.rope.reset()
		g.link.mu.Lock()
		g.link.listener = nil
		g.link.mu.Unlock()
	}()
	<-g.link.opened
	failures, session := 0, ""
	for {
		head := g.link.current()
		if head.session != session {
			session, g.sse.lastID = head.session, ""
		}
		began := time.Now()
		final, err := g.once(head)
		if g.call.canceled() != nil {
			return
		}
		if errors.Is(err, ErrSessionLost) {
			if g.link.lose(session) {
				_ = g.link.tell(SessionLost{})
			}
			return
		}
		if g.link.tell(ListenFailed{Err: linkWords(err), Final: final}) != nil || final {
			return
		}
		failures++
		if g.sse.events > 0 || time.Since(began) >= httpLinkListenLong {
			failures = 0
		}
		if httpLinkPause(g.call, httpLinkListenPause(failures, g.sse.retry)) != nil {
			return
		}
	}
}

// httpLinkListenPause is how long to wait after so many streams in a row that brought nothing. Half of it is jitter:
// when a server restarts its clients do not come back all at once.
func httpLinkListenPause(failures int, retry time.Duration) time.Duration {
	pause := httpLinkListenMin
	if retry > 0 {
		pause = max(retry, httpLinkRetryFloor)
	}
	limit := max(pause, httpLinkListenMax)
	for range min(failures, 16) {
		pause = min(2*pause, limit)
	}
	if retry > 0 && failures <= 1 {
		return pause + rand.N(pause/4+1) // not earlier than it asked
	}
	return pause/2 + rand.N(pause/2+1)
}

// once opens the stream and tells what comes until it ends. final: there is no use in trying again.
func (g *httpLinkListener) once(head *httpLinkHead) (final bool, err error) {
	g.sse.events = 0
	r := httpLinkRequest{verb: http.MethodGet, head: head, lastEvent: g.sse.lastID}
	a := &g.answer
	if err := g.link.trip.send(g.call, &r, a); err != nil {
		return false, err
	}
	defer func() {
		_ = g.call.hold(nil)
		g.link.trip.done(a, false)
	}()
	if a.status != http.StatusOK {
		return g.refused(head)
	}
	if !a.sse || a.encoded {
		return true, errors.New("the answer to GET is no event stream")
	}
	g.open = head.session
	if err := g.link.tell(Listening{}); err != nil {
		return false, err
	}
	g.sse.reset(a.body)
	for {
		data, err := g.sse.next()
		switch {
		case err == io.EOF:
			return false, errLinkStreamEnded
		case errors.Is(err, ErrFrameTooLarge), errors.Is(err, ErrOverBudget):
			err = g.link.tell(Noise{Err: fmt.Errorf("read stream: %w", err)})
		case err == nil:
			err = g.frames(data)
		}
		if err != nil {
			return false, err
		}
	}
}

func (g *httpLinkListener) frames(data []byte) error {
	var told error
	err := linkParse(data, func(f *protocol.Frame) error {
		told = g.link.tell(Received{Frame: *f})
		return told
	})
	if err != nil && told == nil {
		told = g.link.tell(linkNoise(data, err))
	}
	return told
}

// refused says what a status other than 200 means. 404 means a lost session only if there was a stream in it before:
// servers without GET answer it, too, and if the session is lost, the next POST will tell.
func (g *httpLinkListener) refused(head *httpLinkHead) (final bool, err error) {
	a := &g.answer
	body, _ := io.ReadAll(io.LimitReader(a.body, httpLinkErrorBody))
	if g.open == head.session && httpLinkIsLost(&httpLinkCall{session: head.session}, a.status, body) {
		return true, ErrSessionLost
	}
	refusal := &StatusError{Code: a.status, RetryAfter: httpLinkRetryAfter(a.retryAfter, time.Now()), Body: body}
	if refusal.RetryAfter > 0 {
		g.sse.retry = min(refusal.RetryAfter, sseMaxRetry)
	}
	again := refusal.Temporary() && a.status != http.StatusMethodNotAllowed
	return !again, refusal
}
