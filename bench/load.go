package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const protocolVersion = "2025-11-25"

const initializeParams = `{"protocolVersion":"` + protocolVersion + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`

// target is something the same load is put on.
type target struct {
	name     string
	at       *process // what is measured; its URL is where requests go
	scrape   bool     // it has /metrics with Go's families
	method   string
	params   []string      // client i sends params[i % len]
	tail     []byte        // of every right answer
	headers  string        // that its clients send besides, each with its line end
	modern   string        // the tool that its clients, which are of 2026-07-28, call; "" = they have sessions
	static   bool          // no handshake, and every answer has the first request's id
	refusals *atomic.Int64 // calls that were refused and may be tried again: they are counted and not fatal; nil = they are
	breaks   bool          // an answer it cuts short is counted and not fatal: see ReverseProxy

	clients []*client
	rounds  []round
}

// client is one closed loop.
type client struct {
	*wire
	request *request
	broken  int // answers cut short so far
}

// connect opens n clients, each with a session of its own.
func (t *target) connect(n int) error {
	for i := range n {
		w, err := dial("tcp", t.at.url.Host)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		w.headers = t.headers
		c := &client{wire: w}
		t.clients = append(t.clients, c)
		if t.modern != "" {
			c.request = newModernCall(t.at.url.Host, t.at.url.Path, t.modern)
			continue
		}
		version := ""
		if !t.static {
			version = protocolVersion
			if err := w.handshake(t.at.url.Host, t.at.url.Path); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		c.request = newRequest(t.at.url.Host, t.at.url.Path, w.session, version, t.method, t.params[i%len(t.params)]).with(t.headers)
	}
	return nil
}

// handshake initializes a session; its id is in w.session.
func (w *wire) handshake(host, path string) error {
	body, err := w.exchange(newRequest(host, path, "", "", "initialize", initializeParams).with(w.headers).text)
	if err := w.expect("initialize", 200, body, err); err != nil {
		return err
	}
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	body, err = w.exchange(withHeaders([]byte(postHead(host, path, w.session, protocolVersion, len(note))+note), w.headers))
	return w.expect("notifications/initialized", 202, body, err)
}

// expect returns an error unless the last exchange went well and had that status.
func (w *wire) expect(what string, status int, body []byte, err error) error {
	if err == nil && w.status != status {
		err = fmt.Errorf("status %d, want %d: %.200q", w.status, status, body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// disconnect closes all clients, their sessions first.
func (t *target) disconnect() {
	for _, c := range t.clients {
		if c.session != "" {
			_, _ = c.exchange(withHeaders(deleteRequest(t.at.url.Host, t.at.url.Path, c.session), t.headers))
		}
		c.close()
	}
	t.clients = nil
}

func deleteRequest(host, path, session string) []byte {
	return []byte("DELETE " + path + " HTTP/1.1\r\nHost: " + host + "\r\nMcp-Session-Id: " + session + "\r\n\r\n")
}

// round is what one target did in one round.
type round struct {
	calls   int
	broken  int
	elapsed time.Duration
	tenths  []uint32 // latency of each call in tenths of a microsecond
	cpu     time.Duration
	mallocs float64
	rss     int64
}

// rate is calls per second; 0 for a round that did not run.
func (r round) rate() float64 {
	if r.elapsed <= 0 {
		return 0
	}
	return float64(r.calls) / r.elapsed.Seconds()
}

// run has all clients call for d and returns what happened; the first wrong answer ends it.
func (t *target) run(ctx context.Context, d time.Duration) (round, error) {
	type result struct {
		tenths []uint32
		broken int
		err    error
	}
	before, mallocs := t.at.usage(), t.mallocs()
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
	var r round
	var failed error
	for range t.clients {
		one := <-results
		r.tenths = append(r.tenths, one.tenths...)
		r.broken += one.broken
		if one.err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w\n%s", t.name, one.err, t.at.said)
		}
	}
	r.elapsed = time.Since(began)
	after := t.at.usage()
	r.calls, r.cpu, r.rss = len(r.tenths), after.cpu-before.cpu, after.rss
	if m := t.mallocs(); m > 0 {
		r.mallocs = m - mallocs
	}
	return r, failed
}

// loop calls until end.
func (c *client) loop(ctx context.Context, t *target, end time.Time) ([]uint32, error) {
	tenths := make([]uint32, 0, 1<<14)
	for now := time.Now(); now.Before(end); {
		if t.static {
			c.request.id = firstID - 1
		}
		body, err := c.exchange(c.request.next())
		if err == nil {
			err = c.request.check(c.wire, body, t.tail)
		}
		if err != nil && t.refusals != nil && isRefusal(body) && ctx.Err() == nil {
			t.refusals.Add(1)
			time.Sleep(time.Millisecond)
			now = time.Now()
			continue
		}
		if err != nil && t.breaks && ctx.Err() == nil {
			if err := c.redial(t); err != nil {
				return tenths, err
			}
			now = time.Now()
			continue
		}
		if err != nil {
			return tenths, err
		}
		if ctx.Err() != nil {
			return tenths, context.Cause(ctx)
		}
		done := time.Now()
		tenths = append(tenths, uint32(done.Sub(now)/100))
		now = done
	}
	return tenths, nil
}

// isRefusal reports whether an answer is the gateway's word that it has too much to do, and has sent nothing.
func isRefusal(body []byte) bool {
	return bytes.Contains(body, []byte(`"code":"QUEUE_FULL"`)) || bytes.Contains(body, []byte(`"code":"OVERLOADED"`))
}

// redial replaces a connection whose answer was cut short.
func (c *client) redial(t *target) error {
	c.broken++
	c.close()
	w, err := dial("tcp", t.at.url.Host)
	if err == nil {
		c.wire = w
	}
	return err
}

// mallocs returns how many objects the target's process has allocated so far; 0 when it does not tell.
func (t *target) mallocs() float64 {
	if !t.scrape {
		return 0
	}
	return scrape(t.at.url.Host)["go_memstats_mallocs_total"]
}

// scrape reads /metrics; series that do not parse are left out, an unreachable page is empty.
func scrape(host string) map[string]float64 {
	values := map[string]float64{}
	w, err := dial("tcp", host)
	if err != nil {
		return values
	}
	defer w.close()
	body, err := w.get(host, "/metrics")
	if err != nil {
		return values
	}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(line[at+1:], &v); err == nil {
			values[line[:at]] = v
		}
	}
	return values
}

// measure puts the load on all targets at one concurrency, their rounds interleaved and in changing order. It calls ran after each
// target's turn, the warm-up's too: turns(o, targets) times in all.
func measure(ctx context.Context, o Options, targets []*target, clients int, ran func()) error {
	defer func() {
		for _, t := range targets {
			t.disconnect()
		}
	}()
	slice := o.Duration / time.Duration(o.Rounds)
	for _, t := range targets {
		t.rounds = nil
		if err := t.connect(clients); err != nil {
			return err
		}
		if _, err := t.run(ctx, min(slice, 300*time.Millisecond)); err != nil { // warm-up
			return err
		}
		ran()
	}
	for n := range o.Rounds {
		order := slices.Concat(targets[n%len(targets):], targets[:n%len(targets)])
		for _, t := range order {
			r, err := t.run(ctx, slice)
			if err != nil {
				return err
			}
			t.rounds = append(t.rounds, r)
			ran()
		}
	}
	return nil
}

// turns are how often a target's turn comes at one concurrency.
func turns(o Options, targets []*target) int { return (o.Rounds + 1) * len(targets) }
