package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/bench/wire"
	"goblin-actor/protocol"
)

// Caller is one client of an endpoint, used by one goroutine at a time. Unlike a Client, it does not know the expected
// response: it checks only the id and the form of the response.
type Caller struct {
	*wire.Conn
	at      *Endpoint
	version string // the negotiated version; "" = no session
	last    time.Time

	swap sync.Mutex // held while the connection is replaced, or closed by another goroutine
}

// interrupt closes the connection, so that a pending exchange fails. It is safe for concurrent use.
func (c *Caller) interrupt() {
	c.swap.Lock()
	defer c.swap.Unlock()
	c.Close()
}

// maxIdle is the idle time after which a connection is replaced, because servers close idle connections, some after 5 s.
const maxIdle = 2 * time.Second

// Connect opens a connection and, unless modern is set, a session.
func (p *Endpoint) Connect(modern bool) (*Caller, error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	c := &Caller{Conn: w, at: p, last: time.Now()}
	if modern {
		return c, nil
	}
	if err := c.initialize(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Caller) initialize() error {
	var result struct{ ProtocolVersion string }
	answer, err := c.Request(wire.NewRequest(c.at.url.Host, c.at.path(), "", "", "initialize", wire.InitializeParams))
	if err == nil {
		err = json.Unmarshal(answer, &result)
	}
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if result.ProtocolVersion == "" || strings.ContainsAny(result.ProtocolVersion, "\r\n") {
		return errors.New("initialize: the response has no valid protocol version")
	}
	c.version = result.ProtocolVersion
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	body, err := c.send([]byte(c.at.text(wire.PostHeader(c.at.url.Host, c.at.path(), c.Session, c.version, len(note)) + note)))
	if err == nil && c.Status/100 != 2 {
		err = fmt.Errorf("status %d: %.200q", c.Status, body)
	}
	if err != nil {
		return fmt.Errorf("notifications/initialized: %w", err)
	}
	return nil
}

// NewRequest returns a request that can be sent repeatedly.
func (c *Caller) NewRequest(method, name, params string) *wire.Request {
	if c.version == "" {
		return wire.NewModernRequest(c.at.url.Host, c.at.path(), method, name, strings.TrimSuffix(params, "}"))
	}
	return wire.NewRequest(c.at.url.Host, c.at.path(), c.Session, c.version, method, params)
}

// Request sends r once and returns the result. An error response is returned as an error.
func (c *Caller) Request(r *wire.Request) ([]byte, error) {
	r = c.at.request(r)
	body, err := c.send(r.Next())
	if err != nil {
		return nil, err
	}
	what, f := c.judge(body, r.ID)
	switch {
	case f != nil && f.Kind == protocol.KindError:
		var said struct{ Message string }
		_ = json.Unmarshal(f.ErrorBytes(), &said) // the message may be missing, because the outcome already names the error
		return nil, fmt.Errorf("%s: %.200s", what, said.Message)
	case what != "":
		return nil, fmt.Errorf("%s: %.300q", what, body)
	}
	return slices.Clone(f.ResultBytes()), nil
}

// send exchanges a request and its response. If the connection has ended or was idle for too long, send first opens a
// new one.
func (c *Caller) send(request []byte) ([]byte, error) {
	if c.Ended || time.Since(c.last) > maxIdle {
		w, err := c.at.dial()
		if err != nil {
			return nil, err
		}
		w.Session = c.Session
		c.swap.Lock()
		c.Close()
		c.Conn = w
		c.swap.Unlock()
	}
	body, err := c.Exchange(request)
	c.last = time.Now()
	if err != nil {
		c.Ended = true // otherwise, the rest of the response would be read as the next one
	}
	return body, err
}

// Leave ends the session and closes the connection.
func (c *Caller) Leave() {
	if c.Session != "" {
		_, _ = c.send([]byte(c.at.text(string(wire.DeleteRequest(c.at.url.Host, c.at.path(), c.Session)))))
	}
	c.Close()
}

// repeated returns the request that a client sends repeatedly. Each client has its own range of ids, so that a response
// to another client's request is noticed.
func (c *Caller) repeated(w *Crowd, index int) *wire.Request {
	request := c.at.request(c.NewRequest("tools/call", w.Tool, wire.CallParamsOf(w.Tool, w.Args)))
	request.ID = wire.FirstID + uint64(index%1700)*500_000 + uint64(time.Now().UnixMilli()%400_000)
	return request
}

// once sends a request and records the outcome, except for a failure after the end of ctx. The latency of a result starts
// at since. once returns the time when the call ended.
func (c *Caller) once(ctx context.Context, request *wire.Request, since time.Time, r *Calls) time.Time {
	body, err := c.send(request.Next())
	what := Lost
	if err == nil {
		what, _ = c.judge(body, request.ID)
	}
	done := time.Now()
	switch {
	case what == "":
		r.Latencies = append(r.Latencies, uint32(done.Sub(since)/100))
	case ctx.Err() == nil:
		r.fail(what)
		time.Sleep(time.Millisecond) // avoid a busy loop if the server refuses immediately
		done = time.Now()
	}
	return done
}

// loop makes calls until end, but at least one. It starts each call after it has received the response to the previous
// one.
func (c *Caller) loop(ctx context.Context, w *Crowd, index int, end time.Time) Calls {
	r := Calls{Latencies: make([]uint32, 0, 1<<10)}
	request := c.repeated(w, index)
	now := c.once(ctx, request, time.Now(), &r)
	for now.Before(end) && ctx.Err() == nil {
		now = c.once(ctx, request, now, &r)
	}
	return r
}

// NotSent is the outcome of a call that was not sent, because no client was free within twice the duration of the run.
const NotSent = "not sent in time"

// dueLoop repeatedly takes the next call, waits until it is due, and sends it, until all calls due within d have been
// sent. The latency of a call is measured from the time when it is due, even if it waits for a free client.
func (c *Caller) dueLoop(ctx context.Context, w *Crowd, index int, next *atomic.Int64, began time.Time, d time.Duration) Calls {
	r := Calls{Latencies: make([]uint32, 0, 1<<10)}
	request := c.repeated(w, index)
	for ctx.Err() == nil {
		due := time.Duration(float64(next.Add(1)-1) / w.Rate * float64(time.Second))
		if due >= d {
			break
		}
		if time.Since(began) > 2*d {
			r.fail(NotSent)
			continue
		}
		if wait := due - time.Since(began); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		c.once(ctx, request, began.Add(due), &r)
	}
	return r
}
