package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

// witnesses are clients that call one tool at a constant rate each, whatever happens, and keep what they saw.
type Probes struct {
	At    *process.Process
	Era   string
	Tool  string // public
	every time.Duration

	stop context.CancelFunc
	done sync.WaitGroup

	mu         sync.Mutex
	seen       []record
	tail       []byte // of every right answer, from the first on
	Lost       int    // requests whose connection ended without an answer
	Wrong      int    // answers to another request, or with other bytes
	FirstWrong string // the first answer that was wrong
	Err        error  // a client could not go on
}

// sight is one call. Times are of the run's epoch.
type record struct {
	due      time.Duration // when it was to be sent: a client that still waited for the call before counts that too
	answered time.Duration
	sent     time.Duration
	ok       bool
}

// Watch starts n clients that run until close.
func Watch(ctx context.Context, at *process.Process, era, tool string, n int, every time.Duration) (*Probes, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &Probes{At: at, Era: era, Tool: tool, every: every, stop: stop}
	for i := range n {
		c, err := w.Dial()
		if err == nil && i == 0 {
			err = w.Learn(c)
		}
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("client of %s: %w", tool, err)
		}
		w.done.Go(func() { w.run(ctx, c, i, n) })
	}
	return w, nil
}

// close ends the clients and waits for them.
func (w *Probes) Close() {
	w.stop()
	w.done.Wait()
}

// dial returns a client that is ready to call.
func (w *Probes) Dial() (*Client, error) {
	conn, err := wire.Dial("tcp", w.At.URL.Host)
	if err != nil {
		return nil, err
	}
	c := &Client{Conn: conn}
	if w.Era == "modern" {
		c.Request = wire.NewModernCall(w.At.URL.Host, w.At.URL.Path, w.Tool)
		return c, nil
	}
	if err := c.Handshake(w.At.URL.Host, w.At.URL.Path); err != nil {
		conn.Close()
		return nil, err
	}
	c.Request = wire.NewRequest(w.At.URL.Host, w.At.URL.Path, c.Session, wire.LegacyVersion, "tools/call", wire.CallParams(w.Tool))
	return c, nil
}

// learn makes one call, which must go well, and keeps what follows the id.
func (w *Probes) Learn(c *Client) error {
	body, err := c.Exchange(c.Request.Next())
	if err := c.Expect(w.Tool, 200, body, err); err != nil {
		return err
	}
	content := wire.TextResult(wire.SmallBytes - 80)
	if len(body) < len(wire.ResponseHead)+wire.IDDigits || !bytes.Contains(body, []byte(content[1:len(content)-1])) {
		return fmt.Errorf("%.300q", body)
	}
	w.tail = slices.Clone(body[len(wire.ResponseHead)+wire.IDDigits:])
	return nil
}

// run calls once every interval, and as soon as it can when it is late.
func (w *Probes) run(ctx context.Context, c *Client, i, n int) {
	defer func() { c.Leave(w.At) }()
	due := Now() + w.every*time.Duration(i)/time.Duration(n)
	for ; ; due += w.every {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(due-Now(), 0)):
		}
		one := record{due: due, sent: Now()}
		body, err := c.Exchange(c.Request.Next())
		one.answered = Now()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.note(one, c, nil, err)
			c.Close()
			if c, err = w.Dial(); err != nil {
				w.fail(err)
				return
			}
			continue
		}
		w.note(one, c, body, nil)
		if due+w.every < one.answered && !one.ok { // nothing is measured by sending at once all that could not be sent while the server was away
			due = one.answered
		}
	}
}

// note keeps what became of a call.
func (w *Probes) note(one record, c *Client, body []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := len(wire.ResponseHead) + wire.IDDigits
	switch {
	case err != nil:
		w.Lost++
	case len(body) < from || !bytes.HasPrefix(body, []byte(wire.ResponseHead)) || !bytes.Equal(body[len(wire.ResponseHead):from], c.Request.IDText()):
		w.wronged(body)
	case bytes.Equal(body[from:], w.tail):
		one.ok = true
	case !bytes.HasPrefix(body[from:], []byte(`,"error":{`)):
		w.wronged(body)
	}
	w.seen = append(w.seen, one)
}

// Record records the outcome of a call that the caller made with a client of Dial.
func (w *Probes) Record(c *Client, body []byte, err error) {
	w.note(record{}, c, body, err)
}

func (w *Probes) wronged(body []byte) {
	if w.Wrong++; w.FirstWrong == "" {
		w.FirstWrong = fmt.Sprintf("%.300q", body)
	}
}

func (w *Probes) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Err = errors.Join(w.Err, err)
}

// between returns the calls that were due in that time and have ended.
func (w *Probes) between(from, to time.Duration) []record {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []record
	for _, one := range w.seen {
		if one.due >= from && one.due < to {
			found = append(found, one)
		}
	}
	return found
}

// p99 is of the calls due in that time, in milliseconds, from when they were due.
func (w *Probes) P99(from, to time.Duration) float64 {
	var took []float64
	for _, one := range w.between(from, to) {
		took = append(took, stats.Millis(one.answered-one.due))
	}
	slices.Sort(took)
	return stats.Quantile(took, .99)
}

// firstError returns when the first call that failed after from had its answer; false: none did.
func (w *Probes) FirstError(from time.Duration) (at time.Duration, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if !one.ok && one.answered >= from && (!found || one.answered < at) {
			at, found = one.answered, true
		}
	}
	return at, found
}

// firstSuccess returns when the first call sent after from went well; false: none did yet.
func (w *Probes) FirstSuccess(from time.Duration) (at time.Duration, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if one.ok && one.sent >= from && (!found || one.answered < at) {
			at, found = one.answered, true
		}
	}
	return at, found
}

// errorsSince counts the errors that calls got after from.
func (w *Probes) ErrorsSince(from time.Duration) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.seen {
		if !one.ok && one.answered >= from {
			n++
		}
	}
	return n
}
