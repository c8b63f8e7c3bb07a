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

// Probes are clients that call one tool, each at a constant rate, and record every call.
type Probes struct {
	At    *process.Process
	Era   string
	Tool  string // public name of the tool
	every time.Duration

	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	seen []record
	tail []byte // the part of the expected response after the id

	// Results, to be read after Close.
	Lost       int    // requests without a response
	Wrong      int    // responses to another request, or with other bytes
	FirstWrong string // the first wrong response
	Err        error  // why a client could not continue
}

// record is one call. Times are those of Now.
type record struct {
	due      time.Duration // when the call should have been sent; the latency includes the wait for the previous call
	answered time.Duration
	sent     time.Duration
	ok       bool
}

// Watch starts n clients that run until Close or the end of ctx. A client that cannot connect again ends earlier.
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

// Close stops the clients and waits for them.
func (w *Probes) Close() {
	w.stop()
	w.done.Wait()
}

// Dial returns a client that is ready to call the tool.
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

// Learn makes one call, which must succeed. The part of its response after the id is expected in all later responses.
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

// run makes one call per interval. If the client is late, it makes the next call immediately.
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
		if due+w.every < one.answered && !one.ok { // do not send all calls that were due while the server was unavailable
			due = one.answered
		}
	}
}

// note records the outcome of a call.
func (w *Probes) note(one record, c *Client, body []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := len(wire.ResponseHead) + wire.IDDigits
	switch {
	case err != nil:
		w.Lost++
	case len(body) < from || !bytes.HasPrefix(body, []byte(wire.ResponseHead)) || !bytes.Equal(body[len(wire.ResponseHead):from], c.Request.IDText()):
		w.addWrong(body)
	case bytes.Equal(body[from:], w.tail):
		one.ok = true
	case !bytes.HasPrefix(body[from:], []byte(`,"error":{`)):
		w.addWrong(body)
	}
	w.seen = append(w.seen, one)
}

// Record records the outcome of a call that the caller made with a client of Dial.
func (w *Probes) Record(c *Client, body []byte, err error) {
	w.note(record{}, c, body, err)
}

func (w *Probes) addWrong(body []byte) {
	if w.Wrong++; w.FirstWrong == "" {
		w.FirstWrong = fmt.Sprintf("%.300q", body)
	}
}

func (w *Probes) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Err = errors.Join(w.Err, err)
}

// between returns the recorded calls that were due between from and to.
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

// P99 returns the p99 latency, in milliseconds, of the calls that were due between from and to. Latencies are measured
// from when calls were due.
func (w *Probes) P99(from, to time.Duration) float64 {
	var took []float64
	for _, one := range w.between(from, to) {
		took = append(took, stats.Millis(one.answered-one.due))
	}
	slices.Sort(took)
	return stats.Quantile(took, .99)
}

// FirstError returns the time of the first failure of a call after from, and whether there is one.
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

// FirstSuccess returns the time of the first success of a call that was sent after from, and whether there is one.
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

// ErrorsSince returns the number of calls that failed after from.
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
