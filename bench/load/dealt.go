package load

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/stats"
	"goblin-actor/bench/wire"
)

// Dealt is a load on the nodes of a cluster. Each client sends its next request to the next node itself, so that no load balancer uses
// the processors that the nodes share with it. A client has one connection to each node.
type Dealt struct {
	Name    string
	Tool    string
	Modern  bool               // the clients have no sessions
	Opened  []*process.Process // client i opens its session at Opened[i % len(Opened)]
	Called  []*process.Process // the requests go to these in turn
	Stay    bool               // all requests of client i go to Called[i % len(Called)] instead
	Counted []*process.Process // the CPU time is that of all of these
	Clients int                // number of clients
	Pause   time.Duration      // between the calls of a client; 0 = none

	tail    []byte // the part of the expected response after the id
	clients []*dealtClient
	Rounds  []DealtRound
}

// DealtRound is the result of one round.
type DealtRound struct {
	Calls int
	P50   float64 // microseconds
	CPU   float64 // microseconds per call
}

// dealtClient is one client. Its requests differ only in their id, and in the node that they are for.
type dealtClient struct {
	conns    []*wire.Conn
	requests []*wire.Request
	next     int // index of the node that gets the next request
	close    func()
}

// learnFor limits how long Learn waits until the nodes know each other and the tool.
const learnFor = 20 * time.Second

// Learn waits until a call succeeds at each node, and keeps the response as the expected one.
func (d *Dealt) Learn(ctx context.Context) error {
	var err error
	for end := time.Now().Add(learnFor); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if err = d.learn(); err == nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", d.Name, err)
}

func (d *Dealt) learn() error {
	if err := d.connect(1); err != nil {
		return err
	}
	defer d.disconnect()
	c, content := d.clients[0], []byte(strings.Trim(wire.TextResult(wire.SmallBytes-80), "{}"))
	for i, w := range c.conns {
		body, err := w.Exchange(c.requests[i].Next())
		if err := w.Expect("tools/call", 200, body, err); err != nil {
			return err
		}
		if len(body) < len(wire.ResponseHead)+wire.IDDigits || !bytes.Contains(body, content) {
			return fmt.Errorf("tools/call: %.300q", body)
		}
		d.tail = slices.Clone(body[len(wire.ResponseHead)+wire.IDDigits:])
	}
	return nil
}

// connect connects n clients.
func (d *Dealt) connect(n int) error {
	for i := range n {
		c, err := d.newClient(i)
		if c != nil {
			d.clients = append(d.clients, c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return nil
}

// newClient opens the session and the connections of the ith client. After an error, the client has those opened before.
func (d *Dealt) newClient(i int) (*dealtClient, error) {
	c, called := &dealtClient{next: i % len(d.Called), close: func() {}}, d.Called
	if d.Stay {
		c.next, called = 0, called[i%len(called):][:1]
	}
	session := ""
	if !d.Modern {
		at := d.Opened[i%len(d.Opened)].URL
		w, err := wire.Dial("tcp", at.Host)
		if err != nil {
			return c, err
		}
		c.close = w.Close
		if err := w.Handshake(at.Host, at.Path); err != nil {
			return c, err
		}
		session = w.Session
		c.close = func() {
			_, _ = w.Exchange(wire.DeleteRequest(at.Host, at.Path, session))
			w.Close()
		}
	}
	for _, p := range called {
		w, err := wire.Dial("tcp", p.URL.Host)
		if err != nil {
			return c, err
		}
		c.conns = append(c.conns, w)
		if d.Modern {
			c.requests = append(c.requests, wire.NewModernCall(p.URL.Host, p.URL.Path, d.Tool))
		} else {
			c.requests = append(c.requests, wire.NewRequest(p.URL.Host, p.URL.Path, session, wire.LegacyVersion, "tools/call", wire.CallParams(d.Tool)))
		}
	}
	return c, nil
}

// disconnect ends all sessions and closes all connections.
func (d *Dealt) disconnect() {
	for _, c := range d.clients {
		for _, w := range c.conns {
			w.Close()
		}
		c.close()
	}
	d.clients = nil
}

// run makes all clients call for the given time.
func (d *Dealt) run(ctx context.Context, length time.Duration) (DealtRound, error) {
	type result struct {
		tenths []uint32
		err    error
	}
	results := make(chan result, len(d.clients))
	before, end := d.used(), time.Now().Add(length)
	for _, c := range d.clients {
		go func() {
			tenths, err := c.loop(ctx, d, end)
			results <- result{tenths, err}
		}()
	}
	var tenths []uint32
	var failed error
	for range d.clients {
		one := <-results
		tenths = append(tenths, one.tenths...)
		if one.err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", d.Name, one.err)
		}
	}
	used := d.used() - before
	slices.Sort(tenths)
	r := DealtRound{Calls: len(tenths), P50: stats.QuantileMicros(tenths, .5)}
	if r.Calls > 0 {
		r.CPU = float64(used.Nanoseconds()) / 1000 / float64(r.Calls)
	}
	return r, failed
}

// used returns the CPU time of the counted processes so far.
func (d *Dealt) used() (sum time.Duration) {
	for _, p := range d.Counted {
		sum += p.CPU()
	}
	return sum
}

// loop calls until end and returns the latencies in tenths of a microsecond. An error ends it.
func (c *dealtClient) loop(ctx context.Context, d *Dealt, end time.Time) (tenths []uint32, err error) {
	for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
		w, r := c.conns[c.next], c.requests[c.next]
		c.next = (c.next + 1) % len(c.conns)
		body, err := w.Exchange(r.Next())
		if err == nil {
			err = r.Check(w, body, d.tail)
		}
		if err != nil {
			return tenths, err
		}
		done := time.Now()
		tenths = append(tenths, uint32(done.Sub(now)/100))
		if now = done; d.Pause > 0 {
			time.Sleep(d.Pause)
			now = time.Now()
		}
	}
	return tenths, context.Cause(ctx)
}

// MeasureDealt applies the loads in interleaved rounds with rotating order and stores the results in their Rounds. After each turn,
// including the warm-up, it calls ran.
func MeasureDealt(ctx context.Context, all []*Dealt, turn time.Duration, rounds int, ran func()) error {
	defer func() {
		for _, d := range all {
			d.disconnect()
		}
	}()
	for _, d := range all {
		d.Rounds = nil
		if err := d.Learn(ctx); err != nil {
			return err
		}
		if err := d.connect(d.Clients); err != nil {
			return err
		}
		if _, err := d.run(ctx, min(turn, 300*time.Millisecond)); err != nil { // warm-up
			return err
		}
		ran()
	}
	for n := range rounds {
		first := n % len(all)
		for _, d := range slices.Concat(all[first:], all[:first]) {
			r, err := d.run(ctx, turn)
			if err != nil {
				return err
			}
			d.Rounds = append(d.Rounds, r)
			ran()
		}
	}
	return nil
}
