package remote

import (
	"errors"
	"time"
)

// An exchange that is made on the goroutine that its call came on spares waking two: one to send it, one to hand back the
// answer. That goroutine has a client, who may leave or be told something meanwhile, so it is not kept for long: what does not come
// soon is waited for elsewhere.

const (
	lentFor    = 20 * time.Millisecond // the longest wait for an answer on a lent goroutine; half of it at the least
	unlentNext = 64                    // exchanges after one that took longer for which none is asked for
)

var (
	errSlow   = errors.New("the answer does not come soon")  // from send and hear: hear goes on
	errNoConn = errors.New("there is no connection to hand") // from send: nothing has been done
)

// step is what an exchange begins or goes on with.
type step uint8

const (
	stepAsk  step = iota // the request is to be sent
	stepHead             // it is sent, the head of the answer comes
	stepBody             // the head has come
)

// lent has the exchange made on the goroutine that its call came on, if that can be had. With mu held.
func (l *httpLink) lent(c *exchange) bool {
	if c.Lend == nil || !l.plain || !c.Request || c.after != nil || len(c.Frame) > oneWriteBytes { // a larger one may take its time to be written
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

// Do makes the exchange on a goroutine that was lent, or begins it there.
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

// mustWait reports whether an exchange has to go on elsewhere, and notes with what.
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

// leave parks a worker whose lent goroutine goes home.
func (l *httpLink) leave(w *worker, c *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, c.Ticket)
	if !l.closing && len(l.guests) < idleWorkers {
		l.guests = append(l.guests, w)
		l.sweepLater()
	}
}

// notSoon notes that the server takes its time.
func (l *httpLink) notSoon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unlent = unlentNext
}

// hurry lets reads end soon. Setting a deadline costs a tenth of an exchange, so one that is far enough is kept.
func (c *poolConn) hurry() {
	if now := time.Now(); c.until.Sub(now) < lentFor/2 {
		c.until = now.Add(lentFor)
		_ = c.SetReadDeadline(c.until)
	}
}

// calm lets them take any time.
func (c *poolConn) calm() {
	if !c.until.IsZero() {
		c.until = time.Time{}
		_ = c.SetReadDeadline(c.until)
	}
}
