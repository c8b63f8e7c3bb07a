package remote

import (
	"errors"
	"time"
)

// Running an exchange on the goroutine of its call saves waking two goroutines: one to send the request and one to return the
// response. That goroutine serves a client, which may disconnect or receive other messages, so it is not blocked for long. If the
// response is late, another goroutine waits for it.

const (
	lentFor    = 20 * time.Millisecond // maximum wait for a response on a lent goroutine; the minimum is half of it
	unlentNext = 64                    // number of exchanges without lending after one that took longer
)

var (
	errSlow   = errors.New("the response is not available yet") // from send and hear: continue with hear
	errNoConn = errors.New("no idle connection")                // from send: nothing was done
)

// step is the next step of an exchange.
type step uint8

const (
	stepAsk  step = iota // send the request
	stepHead             // read the header of the response
	stepBody             // read the body
)

// lent runs the exchange on the goroutine of its call, if possible. The caller must hold mu.
func (l *httpLink) lent(c *exchange) bool {
	if c.Lend == nil || !l.plain || !c.Request || c.after != nil || len(c.Frame) > oneWriteBytes { // writing a larger one may block
		return false
	}
	if l.unlent > 0 {
		l.unlent--
		return false
	}
	var w *worker
	if n := len(l.guests); n > 0 {
		w = l.guests[n-1]
		l.guests = l.guests[:n-1]
	} else {
		w = newWorker(l)
	}
	if w.guest = c; !c.Lend(w) {
		w.guest = nil
		l.guests = append(l.guests, w)
		return false
	}
	c.lent = true
	l.running.Add(1)
	return true
}

// Do runs the exchange on a lent goroutine, or starts it there.
func (w *worker) Do() {
	c := w.guest
	w.guest = nil
	<-w.link.opened
	if w.exchange(c) {
		w.link.leave(w, c)
		w.link.running.Done()
		return
	}
	c.lent = false
	if conn := w.answer.conn; conn != nil {
		conn.calm()
	}
	w.link.notSoon()
	go w.run(c)
}

// mustWait reports whether another goroutine must continue the exchange, and sets its next step.
func (w *worker) mustWait(err error) bool {
	switch {
	case err == errNoConn:
		w.next = stepAsk
	case err == errSlow:
		w.next = stepHead
	case err == nil && !w.answer.isHere():
		w.next = stepBody
	default:
		return false
	}
	return true
}

// leave keeps a worker for reuse when its lent goroutine is returned.
func (l *httpLink) leave(w *worker, c *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Ticket)
	if !l.closing && len(l.guests) < idleWorkers {
		l.guests = append(l.guests, w)
		l.sweepLater()
	}
}

// notSoon disables lending for the next exchanges, because the server is slow.
func (l *httpLink) notSoon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlent = unlentNext
}

// hurry sets a short read deadline. Setting it costs a tenth of an exchange, so a deadline that is far enough away is kept.
func (c *poolConn) hurry() {
	if now := time.Now(); c.until.Sub(now) < lentFor/2 {
		c.until = now.Add(lentFor)
		_ = c.SetReadDeadline(c.until)
	}
}

// calm removes the read deadline.
func (c *poolConn) calm() {
	if !c.until.IsZero() {
		c.until = time.Time{}
		_ = c.SetReadDeadline(c.until)
	}
}
