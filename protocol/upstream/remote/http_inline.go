package remote

import (
	"errors"
	"time"
)

// An inline exchange runs on the goroutine that waits for the response. That saves waking two goroutines: one to send
// the request and one to return the response. The waiting goroutine serves a client, which may disconnect or receive
// other messages, so it must not be blocked for long. If the response is late, another goroutine waits for it.

const (
	inlineWait       = 20 * time.Millisecond // an inline exchange waits between half of this and all of it for the response
	inlinePauseAfter = 64                    // number of exchanges that are not run inline after an inline exchange that took longer
)

var (
	errSlow   = errors.New("the response is not available yet") // from send and receive: continue with receive
	errNoConn = errors.New("no idle connection")                // from send: nothing was done
)

// step is the next step of an exchange.
type step uint8

const (
	stepSend step = iota // send the request
	stepHead             // read the header of the response
	stepBody             // read the body
)

// runInline runs the exchange inline, if possible, and reports whether it does. The caller must hold mu.
func (l *httpLink) runInline(c *exchange) bool {
	if c.RunInline == nil || !l.plain || !c.Request || c.after != nil || len(c.Frame) > oneWriteBytes { // writing a larger one may block
		return false
	}
	if l.inlinePause > 0 {
		l.inlinePause--
		return false
	}
	var w *worker
	if n := len(l.inlineWorkers); n > 0 {
		w = l.inlineWorkers[n-1]
		l.inlineWorkers = l.inlineWorkers[:n-1]
	} else {
		w = newWorker(l)
	}
	if w.inline = c; !c.RunInline(w) {
		w.inline = nil
		l.inlineWorkers = append(l.inlineWorkers, w)
		return false
	}
	c.inline = true
	l.running.Add(1)
	return true
}

// Do runs the exchange inline. If that would take too long, a goroutine of the worker continues it.
func (w *worker) Do() {
	c := w.inline
	w.inline = nil
	<-w.link.opened
	if w.exchange(c) {
		w.link.keepInline(w, c)
		w.link.running.Done()
		return
	}
	c.inline = false
	if conn := w.answer.conn; conn != nil {
		conn.unlimitRead()
	}
	w.link.pauseInline()
	go w.run(c)
}

// mustWait reports whether another goroutine must continue the exchange, and sets its next step.
func (w *worker) mustWait(err error) bool {
	switch {
	case err == errNoConn:
		w.next = stepSend
	case err == errSlow:
		w.next = stepHead
	case err == nil && !w.answer.isHere():
		w.next = stepBody
	default:
		return false
	}
	return true
}

// keepInline keeps a worker for the next inline exchange.
func (l *httpLink) keepInline(w *worker, c *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Ticket)
	if !l.closing && len(l.inlineWorkers) < idleWorkers {
		l.inlineWorkers = append(l.inlineWorkers, w)
		l.sweepLater()
	}
}

// pauseInline disables inline execution for the next exchanges, because the server is slow.
func (l *httpLink) pauseInline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inlinePause = inlinePauseAfter
}

// limitRead sets a read deadline for an inline exchange. Setting one costs a tenth of an exchange, so a deadline that
// is at least half of inlineWait away is not changed.
func (c *poolConn) limitRead() {
	if now := time.Now(); c.until.Sub(now) < inlineWait/2 {
		c.until = now.Add(inlineWait)
		_ = c.SetReadDeadline(c.until)
	}
}

// unlimitRead removes the read deadline.
func (c *poolConn) unlimitRead() {
	if !c.until.IsZero() {
		c.until = time.Time{}
		_ = c.SetReadDeadline(c.until)
	}
}
