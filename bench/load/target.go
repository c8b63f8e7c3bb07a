package load

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/wire"
)

// target is something the same load is put on.
type Target struct {
	Name       string
	At         *process.Process // what is measured; its URL is where requests go
	Scrape     bool             // it has /metrics with Go's families
	Method     string
	Params     []string      // client i sends params[i % len]
	Tail       []byte        // of every right answer
	Headers    string        // that its clients send besides, each with its line end
	ModernTool string        // the tool that its clients, which are of 2026-07-28, call; "" = they have sessions
	Static     bool          // no handshake, and every answer has the first request's id
	Refusals   *atomic.Int64 // calls that were refused and may be tried again: they are counted and not fatal; nil = they are
	MayBreak   bool          // an answer it cuts short is counted and not fatal: see ReverseProxy

	clients []*Client
	Rounds  []Round
}

// connect opens n clients, each with a session of its own.
func (t *Target) Connect(n int) error {
	for i := range n {
		w, err := wire.Dial("tcp", t.At.URL.Host)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		w.Headers = t.Headers
		c := &Client{Conn: w}
		t.clients = append(t.clients, c)
		if t.ModernTool != "" {
			c.Request = wire.NewModernCall(t.At.URL.Host, t.At.URL.Path, t.ModernTool)
			continue
		}
		version := ""
		if !t.Static {
			version = wire.LegacyVersion
			if err := w.Handshake(t.At.URL.Host, t.At.URL.Path); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		c.Request = wire.NewRequest(t.At.URL.Host, t.At.URL.Path, w.Session, version, t.Method, t.Params[i%len(t.Params)]).With(t.Headers)
	}
	return nil
}

// disconnect closes all clients, their sessions first.
func (t *Target) Disconnect() {
	for _, c := range t.clients {
		if c.Session != "" {
			_, _ = c.Exchange(wire.InsertHeaders(wire.DeleteRequest(t.At.URL.Host, t.At.URL.Path, c.Session), t.Headers))
		}
		c.Close()
	}
	t.clients = nil
}

// round is what one target did in one round.
type Round struct {
	Calls     int
	Broken    int
	Elapsed   time.Duration
	Latencies []uint32 // latency of each call in tenths of a microsecond
	CPU       time.Duration
	Mallocs   float64
	RSS       int64
}

// rate is calls per second; 0 for a round that did not run.
func (r Round) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Calls) / r.Elapsed.Seconds()
}

// run has all clients call for d and returns what happened; the first wrong answer ends it.
func (t *Target) Run(ctx context.Context, d time.Duration) (Round, error) {
	type result struct {
		tenths []uint32
		broken int
		err    error
	}
	before, mallocs := t.At.Usage(), t.mallocs()
	results := make(chan result, len(t.clients))
	began := time.Now()
	end := began.Add(d)
	for _, c := range t.clients {
		go func() {
			c.broken = 0
			tenths, err := c.loop(ctx, t, end)
			results <- result{tenths, c.broken, err}
		}()
	}
	var r Round
	var failed error
	for range t.clients {
		one := <-results
		r.Latencies = append(r.Latencies, one.tenths...)
		r.Broken += one.broken
		if one.err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w\n%s", t.Name, one.err, t.At.Stderr)
		}
	}
	r.Elapsed = time.Since(began)
	after := t.At.Usage()
	r.Calls, r.CPU, r.RSS = len(r.Latencies), after.CPU-before.CPU, after.RSS
	if m := t.mallocs(); m > 0 {
		r.Mallocs = m - mallocs
	}
	return r, failed
}

// mallocs returns how many objects the target's process has allocated so far; 0 when it does not tell.
func (t *Target) mallocs() float64 {
	if !t.Scrape {
		return 0
	}
	return wire.Scrape(t.At.URL.Host)["go_memstats_mallocs_total"]
}

// learn makes one call and keeps the part of the response after the id as the expected answer, because the gateway adds fields for
// the client's era. The answer must contain the server's content.
func (t *Target) Learn() error {
	if err := t.Connect(1); err != nil {
		return err
	}
	defer t.Disconnect()
	c := t.clients[0]
	body, err := c.Exchange(c.Request.Next())
	if err := c.Expect(t.Name, 200, body, err); err != nil {
		return err
	}
	content := strings.Trim(wire.TextResult(wire.SmallBytes-80), "{}")
	if len(body) < len(wire.ResponseHead)+wire.IDDigits || !bytes.Contains(body, []byte(content)) {
		return fmt.Errorf("%s: %.300q", t.Name, body)
	}
	t.Tail = slices.Clone(body[len(wire.ResponseHead)+wire.IDDigits:])
	return nil
}
