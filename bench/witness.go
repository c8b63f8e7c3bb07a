package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// witnesses are clients that call one tool at a constant rate each, whatever happens, and keep what they saw.
type witnesses struct {
	at    *process
	era   string
	tool  string // public
	every time.Duration

	stop context.CancelFunc
	done sync.WaitGroup

	mu    sync.Mutex
	seen  []sight
	tail  []byte // of every right answer, from the first on
	lost  int    // requests whose connection ended without an answer
	wrong int    // answers to another request, or with other bytes
	first string // the first answer that was wrong
	odd   error  // a client could not go on
}

// sight is one call. Times are of the run's epoch.
type sight struct {
	due   time.Duration // when it was to be sent: a client that still waited for the call before counts that too
	ended time.Duration
	sent  time.Duration
	ok    bool
}

// watch starts n clients that run until close.
func (s *setup) watch(at *process, era, tool string, n int, every time.Duration) (*witnesses, error) {
	ctx, stop := context.WithCancel(s.ctx)
	w := &witnesses{at: at, era: era, tool: tool, every: every, stop: stop}
	for i := range n {
		c, err := w.dial()
		if err == nil && i == 0 {
			err = w.learn(c)
		}
		if err != nil {
			w.close()
			return nil, fmt.Errorf("client of %s: %w", tool, err)
		}
		w.done.Go(func() { w.run(ctx, c, i, n) })
	}
	return w, nil
}

// close ends the clients and waits for them.
func (w *witnesses) close() {
	w.stop()
	w.done.Wait()
}

// dial returns a client that is ready to call.
func (w *witnesses) dial() (*client, error) {
	conn, err := dial("tcp", w.at.url.Host)
	if err != nil {
		return nil, err
	}
	c := &client{wire: conn}
	if w.era == "modern" {
		c.request = newModernCall(w.at.url.Host, w.at.url.Path, w.tool)
		return c, nil
	}
	if err := c.handshake(w.at.url.Host, w.at.url.Path); err != nil {
		conn.close()
		return nil, err
	}
	c.request = newRequest(w.at.url.Host, w.at.url.Path, c.session, protocolVersion, "tools/call", callParams(w.tool))
	return c, nil
}

// learn makes one call, which must go well, and keeps what follows the id.
func (w *witnesses) learn(c *client) error {
	body, err := c.exchange(c.request.next())
	if err := c.expect(w.tool, 200, body, err); err != nil {
		return err
	}
	content := textResult(smallBytes - 80)
	if len(body) < len(answerHead)+idDigits || !bytes.Contains(body, []byte(content[1:len(content)-1])) {
		return fmt.Errorf("%.300q", body)
	}
	w.tail = slices.Clone(body[len(answerHead)+idDigits:])
	return nil
}

// run calls once every interval, and as soon as it can when it is late.
func (w *witnesses) run(ctx context.Context, c *client, i, n int) {
	defer func() { c.leave(w.at) }()
	due := time.Since(epoch) + w.every*time.Duration(i)/time.Duration(n)
	for ; ; due += w.every {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(due-time.Since(epoch), 0)):
		}
		one := sight{due: due, sent: time.Since(epoch)}
		body, err := c.exchange(c.request.next())
		one.ended = time.Since(epoch)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.note(one, c, nil, err)
			c.close()
			if c, err = w.dial(); err != nil {
				w.fail(err)
				return
			}
			continue
		}
		w.note(one, c, body, nil)
		if due+w.every < one.ended && !one.ok { // nothing is measured by sending at once all that could not be sent while the server was away
			due = one.ended
		}
	}
}

// note keeps what became of a call.
func (w *witnesses) note(one sight, c *client, body []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := len(answerHead) + idDigits
	switch {
	case err != nil:
		w.lost++
	case len(body) < from || !bytes.HasPrefix(body, []byte(answerHead)) || !bytes.Equal(body[len(answerHead):from], c.request.text[c.request.at:c.request.at+idDigits]):
		w.wronged(body)
	case bytes.Equal(body[from:], w.tail):
		one.ok = true
	case !bytes.HasPrefix(body[from:], []byte(`,"error":{`)):
		w.wronged(body)
	}
	w.seen = append(w.seen, one)
}

func (w *witnesses) wronged(body []byte) {
	if w.wrong++; w.first == "" {
		w.first = fmt.Sprintf("%.300q", body)
	}
}

func (w *witnesses) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.odd = errors.Join(w.odd, err)
}

// leave ends the client's session.
func (c *client) leave(at *process) {
	if c == nil {
		return
	}
	if c.session != "" {
		_, _ = c.exchange(deleteRequest(at.url.Host, at.url.Path, c.session))
	}
	c.close()
}

// between returns the calls that were due in that time and have ended.
func (w *witnesses) between(from, to time.Duration) []sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []sight
	for _, one := range w.seen {
		if one.due >= from && one.due < to {
			found = append(found, one)
		}
	}
	return found
}

// p99 is of the calls due in that time, in milliseconds, from when they were due.
func (w *witnesses) p99(from, to time.Duration) float64 {
	var took []float64
	for _, one := range w.between(from, to) {
		took = append(took, millis(one.ended-one.due))
	}
	slices.Sort(took)
	return quantileOf(took, .99)
}

// firstError returns when the first call that failed after from had its answer; false: none did.
func (w *witnesses) firstError(from time.Duration) (at time.Duration, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if !one.ok && one.ended >= from && (!found || one.ended < at) {
			at, found = one.ended, true
		}
	}
	return at, found
}

// firstSuccess returns when the first call sent after from went well; false: none did yet.
func (w *witnesses) firstSuccess(from time.Duration) (at time.Duration, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if one.ok && one.sent >= from && (!found || one.ended < at) {
			at, found = one.ended, true
		}
	}
	return at, found
}

// errorsSince counts the errors that calls got after from.
func (w *witnesses) errorsSince(from time.Duration) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if !one.ok && one.ended >= from {
			n++
		}
	}
	return n
}
