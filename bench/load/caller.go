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

// caller is one client of a peer, used by one goroutine at a time. Unlike those of the other measurements it does not know what
// the answer must be: it looks at ids and at the shape of the answer.
type Caller struct {
	*wire.Conn
	at      *Endpoint
	version string // agreed on; "" = there is no session
	last    time.Time

	swap sync.Mutex // held while wire is replaced or, by another goroutine, closed
}

// interrupt makes who waits for an answer wait no longer. From any goroutine.
func (c *Caller) interrupt() {
	c.swap.Lock()
	defer c.swap.Unlock()
	c.Close()
}

// idleAtMost is how long a connection may rest before it is made anew: servers close those that nobody uses, some after 5 s.
const idleAtMost = 2 * time.Second

// connect opens a connection and, unless the client is modern, a session on it.
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
		return errors.New("initialize: the answer names no protocol version")
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

// call returns a request that calls a method of c's peer again and again.
func (c *Caller) NewRequest(method, name, params string) *wire.Request {
	if c.version == "" {
		return wire.NewModernRequest(c.at.url.Host, c.at.path(), method, name, strings.TrimSuffix(params, "}"))
	}
	return wire.NewRequest(c.at.url.Host, c.at.path(), c.Session, c.version, method, params)
}

// ask sends r once and returns the result; an error as an answer is an error.
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
		_ = json.Unmarshal(f.ErrorBytes(), &said) // then the name has to do
		return nil, fmt.Errorf("%s: %.200s", what, said.Message)
	case what != "":
		return nil, fmt.Errorf("%s: %.300q", what, body)
	}
	return slices.Clone(f.ResultBytes()), nil
}

// send exchanges on a connection that lives.
func (c *Caller) send(request []byte) ([]byte, error) {
	if c.Ended || time.Since(c.last) > idleAtMost {
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
		c.Ended = true // what is left of it would be taken for the next answer
	}
	return body, err
}

// leave ends the session and the connection.
func (c *Caller) Leave() {
	if c.Session != "" {
		_, _ = c.send([]byte(c.at.text(string(wire.DeleteRequest(c.at.url.Host, c.at.path(), c.Session)))))
	}
	c.Close()
}

// repeated is the request that a client sends again and again. Each client has ids of its own, so that an answer that went to
// another one shows.
func (c *Caller) repeated(w *Crowd, index int) *wire.Request {
	request := c.at.request(c.NewRequest("tools/call", w.Tool, wire.CallParamsOf(w.Tool, w.Args)))
	request.ID = wire.FirstID + uint64(index%1700)*500_000 + uint64(time.Now().UnixMilli()%400_000)
	return request
}

// once sends it and notes what came; the time of a result counts from since.
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
		time.Sleep(time.Millisecond) // who refuses at once must not be asked without pause
		done = time.Now()
	}
	return done
}

// loop calls once, and until end each time when the last answer has come.
func (c *Caller) loop(ctx context.Context, w *Crowd, index int, end time.Time) Calls {
	r := Calls{Latencies: make([]uint32, 0, 1<<10)}
	request := c.repeated(w, index)
	now := c.once(ctx, request, time.Now(), &r)
	for now.Before(end) && ctx.Err() == nil {
		now = c.once(ctx, request, now, &r)
	}
	return r
}

// notSent is what becomes of calls that nobody was free to send in twice the time.
const NotSent = "not sent in time"

// dueLoop takes the next call that is due, waits until it is and sends it, until all that are due within d are sent. A call that
// had to wait for a free client is timed from when it was due.
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
