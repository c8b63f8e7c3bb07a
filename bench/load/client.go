package load

import (
	"bytes"
	"context"
	"time"

	"goblin-actor/bench/process"
	"goblin-actor/bench/wire"
)

// Client sends one request after the other.
type Client struct {
	*wire.Conn
	Request *wire.Request
	broken  int // truncated responses so far
}

// loop calls until end, or until an error that t does not tolerate, and returns the latencies.
func (c *Client) loop(ctx context.Context, t *Target, end time.Time) ([]uint32, error) {
	tenths := make([]uint32, 0, 1<<14)
	for now := time.Now(); now.Before(end); {
		if t.Static {
			c.Request.ID = wire.FirstID - 1
		}
		body, err := c.Exchange(c.Request.Next())
		if err == nil {
			err = c.Request.Check(c.Conn, body, t.Tail)
		}
		if err != nil && t.Refusals != nil && isRefusal(body) && ctx.Err() == nil {
			t.Refusals.Add(1)
			time.Sleep(time.Millisecond)
			now = time.Now()
			continue
		}
		if err != nil && t.MayBreak && ctx.Err() == nil {
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

// isRefusal reports whether the gateway refused a call because of overload, so that nothing was sent to the server.
func isRefusal(body []byte) bool {
	return bytes.Contains(body, []byte(`"code":"QUEUE_FULL"`)) || bytes.Contains(body, []byte(`"code":"OVERLOADED"`))
}

// redial replaces a connection after a truncated response.
func (c *Client) redial(t *Target) error {
	c.broken++
	c.Close()
	w, err := wire.Dial("tcp", t.At.URL.Host)
	if err == nil {
		c.Conn = w
	}
	return err
}

// Leave ends the client's session and closes the connection.
func (c *Client) Leave(at *process.Process) {
	if c == nil {
		return
	}
	if c.Session != "" {
		_, _ = c.Exchange(wire.DeleteRequest(at.URL.Host, at.URL.Path, c.Session))
	}
	c.Close()
}
