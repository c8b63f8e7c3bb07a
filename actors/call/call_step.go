package call

import (
	"fmt"
	"time"

	"goblin-actor/protocol"
)

// Step applies an event at the time now and appends the resulting effects to out.
func (c *Call) Step(now time.Time, event any, out []Effect) []Effect {
	if c.State == Ended {
		return out
	}
	switch e := event.(type) {
	case Sent:
		c.begin(now)
	case Heard:
		if c.heard = now; !e.Behind {
			c.Progress, c.Total = protocol.ProgressOf(&e.Frame)
		}
		if c.Token != nil && !e.Behind {
			out = append(out, Effect{Kind: Forward, Frame: e.Frame})
		}
	case Logged:
		out = append(out, Effect{Kind: Forward, Frame: e.Frame})
	case Asked:
		c.begin(now) // a server request may arrive before Sent
		if c.asking++; c.asking == 1 {
			c.State, c.parked = Parked, now
		}
		if c.Asked.IsZero() {
			c.Asked = now
		}
	case Replied:
		if c.asking--; c.asking == 0 {
			c.State, c.heard = Written, now
			c.written = c.written.Add(now.Sub(c.parked)) // Idle and Absolute stopped while the request to the client was open
		}
	case Answered:
		if c.State = Ended; c.Answered.IsZero() {
			c.Answered = now
		}
		out = append(out, Effect{Kind: Deliver, Frame: e.Frame})
	case Broken:
		c.State = Ended
		out = append(out, Effect{Kind: Fail, Fault: e.Fault})
	case Withdrawn:
		c.State = Ended
		out = append(out, Effect{Kind: Cancel, Reason: e.Reason}, Effect{Kind: Forget})
	case Tick:
		out = c.tick(now, out)
	}
	return out
}

// begin starts the timeouts, once.
func (c *Call) begin(now time.Time) {
	if c.State == Queued {
		c.State, c.written, c.heard, c.Sent = Written, now, now, now
	}
}

// tick ends the call if a timeout has passed: it cancels the request at the server and answers the client with TIMEOUT.
func (c *Call) tick(now time.Time, out []Effect) []Effect {
	deadline := c.Deadline()
	if deadline.IsZero() || now.Before(deadline) {
		return out
	}
	why := fmt.Sprintf("no answer and no progress for %s", c.Limits.Idle)
	if c.State == Queued {
		why = fmt.Sprintf("the server did not accept the request within %s", c.Limits.Queue+c.Limits.Idle)
	} else if c.State == Parked {
		why = fmt.Sprintf("the server's request to the client was not answered within %s", c.Limits.Parked)
	} else if c.Limits.Absolute > 0 && !now.Before(c.written.Add(c.Limits.Absolute)) {
		why = fmt.Sprintf("no answer within %s", c.Limits.Absolute)
	}
	timedOut := c.State != Parked // a parked call waits for the client, not for the server
	c.State = Ended
	fault := &protocol.Fault{
		Name: protocol.Timeout, Server: c.Server, Message: "Timeout: " + why + "; the request was canceled",
	}
	return append(out, Effect{Kind: Cancel, Reason: why, TimedOut: timedOut}, Effect{Kind: Fail, Fault: fault})
}
