package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
)

// Two of the values of the setting isolation.
const (
	isolationClass  = "class"  // clients with the same capabilities share a connection
	isolationLeased = "leased" // a connection carries one call at a time
)

// calls holds the running and queued calls of a server, and the limits that make calls wait.
type calls struct {
	running   map[message.CallRef]*run // each is at exactly one backend
	parked    int                      // running calls that wait for a client's answer
	waiting   int                      // running calls that only wait for the end of a task
	queue     callQueue
	autoLease autoLease
	pauses    pauses
	rates     rateLimits
	timeouts  timeouts
}

// run is a call at a backend.
type run struct {
	conn      *connection
	parked    bool // it waits for its client's answer
	waitsOnly bool // it only waits for the end of a task, so the server does no work for it (message.Request.Waits)

	deadline  time.Time               // its queue deadline, kept in case it has to wait again; zero = it has not waited
	broken    *message.ConnectionLost // the earlier loss of its connection or response; nil = none
	cancelled bool                    // its holder no longer expects an answer
	tried     []*connection           // connections that returned it unexecuted
}

// begin records a call that is sent to a backend.
func (c *calls) begin(call message.CallRef, r *run) {
	c.running[call] = r
	c.count(r, 1)
}

// finish forgets a call that has left its backend.
func (c *calls) finish(call message.CallRef, r *run) {
	delete(c.running, call)
	c.count(r, -1)
}

// setParked records whether a call waits for its client's answer.
func (c *calls) setParked(r *run, parked bool) {
	c.count(r, -1)
	r.parked = parked
	c.count(r, 1)
}

// count adds n to the call's counter. Each running call is counted once: as parked, as waiting, or at its connection.
func (c *calls) count(r *run, n int) {
	switch {
	case r.parked:
		c.parked += n
	case r.waitsOnly:
		c.waiting += n
	default:
		r.conn.inFlight += n
	}
}

// working returns the number of calls that count toward maxConcurrent: running ones that are neither parked nor waiting.
func (c *calls) working() int { return len(c.running) - c.parked - c.waiting }

// stepCalls handles the messages and timers that concern calls.
func (s *state) stepCalls(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Dispatch:
		return s.dispatchLimited(now, m, out)
	case message.CallEnded:
		return s.callEnded(now, m, out)
	case message.Cancel:
		if m.TimedOut {
			out = s.recordTimeout(now, out)
		}
		return s.cancel(m, out)
	case message.NotExecuted:
		return s.callNotExecuted(now, m, out)
	case message.ConnectionLost:
		return s.connectionLost(now, m, out)
	case message.CallParked:
		return s.callParked(now, m, out)
	case message.UnattributedRequest:
		return s.beginAutoLease(now, out)
	case queueExpired:
		return s.expireQueued(now, m, out)
	case timeoutsDue:
		return s.timeoutsDue(now, out)
	case autoLeaseDue:
		return s.autoLeaseDue(now, m, out)
	case pauseDue:
		return s.pauseDue(now, m, out)
	}
	return out
}
