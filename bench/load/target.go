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

// Target is a process under load. All targets of a measurement get the same load.
type Target struct {
	Name       string
	At         *process.Process // requests go to its URL
	Scrape     bool             // the process serves /metrics with the metrics of the Go runtime
	Method     string
	Params     []string      // client i sends Params[i % len(Params)]
	Tail       []byte        // the part of the expected response after the id
	Headers    string        // additional request headers, each with its line end
	ModernTool string        // the tool that clients of 2026-07-28 call; "" = the clients have sessions
	Static     bool          // no handshake, and every response has the id of the first request
	Refusals   *atomic.Int64 // counts refused calls, which are retried; nil = a refusal ends the run
	MayBreak   bool          // a truncated response is counted and does not end the run; see report.ReverseProxy

	clients []*Client
	Rounds  []Round
}

// Connect connects n clients. Each has its own session, unless Static or ModernTool is set.
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

// Disconnect ends all sessions and closes all connections.
func (t *Target) Disconnect() {
	for _, c := range t.clients {
		if c.Session != "" {
			_, _ = c.Exchange(wire.InsertHeaders(wire.DeleteRequest(t.At.URL.Host, t.At.URL.Path, c.Session), t.Headers))
		}
		c.Close()
	}
	t.clients = nil
}

// Round is the result of one round of a target.
type Round struct {
	Calls     int
	Broken    int
	Elapsed   time.Duration
	Latencies []uint32 // latency of each call in tenths of a microsecond
	CPU       time.Duration
	Mallocs   float64
	RSS       int64
}

// Rate returns the calls per second, or 0 if the round did not run.
func (r Round) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Calls) / r.Elapsed.Seconds()
}

// Run makes all clients call for d and returns the result. It returns an error if a call failed or a response was
// wrong, unless Refusals or MayBreak tolerates that.
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

// mallocs returns the number of objects that the target's process has allocated so far, or 0 if it has no metrics.
func (t *Target) mallocs() float64 {
	if !t.Scrape {
		return 0
	}
	return wire.Scrape(t.At.URL.Host)["go_memstats_mallocs_total"]
}

// Learn makes one call. It keeps the part of the response after the id as the expected tail, because the gateway adds
// fields for the client's era. The response must contain the server's content.
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
