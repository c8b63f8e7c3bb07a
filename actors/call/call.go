// Package call tracks one client request while a server works on it. A Call is a value with a pure step function. Its
// holder (a session or a stateless session) gives it events and executes the effects that it returns. The package knows
// neither the holder nor HTTP.
//
//	c := call.Call{Seq: seq, ID: rawID, Token: token, State: call.Queued, Began: now, Limits: limits}
//	out = c.Step(now, call.Heard{Frame: progress}, out)
//
// Every call ends with exactly one Deliver, Fail or Forget, whatever the order of its events. Later events are ignored.
package call

import (
	"time"

	"goblin-actor/protocol"
)

// State is the state of a call: queued → written ⇄ parked, and from each to ended.
type State string

// The states of a call.
const (
	Queued  State = "queued"  // nothing has reached the server
	Written State = "written" // the server has the request
	Parked  State = "parked"  // the server waits for the client's answer to its request
	Ended   State = "ended"   // later events are ignored
)

// Limits are a call's timeouts; 0 = none. Idle and Absolute start when the request is written.
type Limits struct {
	Queue    time.Duration // maximum wait in the pool's queue; if Idle is set too, a request not written within Queue + Idle fails
	Idle     time.Duration // maximum time without a response or progress
	Absolute time.Duration // maximum time until the response, regardless of progress
	Parked   time.Duration // maximum time that the call stays parked without interruption; Idle and Absolute stop meanwhile
	Patient  bool          // the call waits for a task to end, so Idle does not apply once the request is written
}

// Call is the state of one request. Its holder owns it; it must not be copied.
type Call struct {
	Seq    uint64
	ID     []byte // the client's id, raw
	Token  []byte // the client's progress token, raw; nil = no progress wanted
	Server string
	Item   string // the server's name for the item; only shown to people
	Public string // the clients' name for the item, only shown to people; "" = unknown
	Client string // name and version of the client; only shown to people
	Method protocol.Method
	State  State
	Began  time.Time
	Limits Limits

	Taken    time.Time // when it left the pool's queue; zero = not yet, or unknown
	Sent     time.Time // when the request was written to the server; zero = not yet, or unknown
	Asked    time.Time // when the first server request arrived; zero = there was none
	Answered time.Time // when the server's answer arrived; zero = not yet

	Progress, Total float64 // as the server last reported; Total 0 = it is not known

	written time.Time // when Idle and Absolute started; zero = not yet
	heard   time.Time // when Idle last restarted, by progress or an answer from the client
	parked  time.Time // when the call was last parked
	asking  int       // number of open server requests
}

// Deadline returns when the call times out; zero = never, or not known yet.
func (c *Call) Deadline() time.Time {
	if c.State == Parked && c.Limits.Parked > 0 {
		return c.parked.Add(c.Limits.Parked)
	}
	if c.State == Queued && c.Limits.Queue > 0 && c.Limits.Idle > 0 {
		return c.Began.Add(c.Limits.Queue + c.Limits.Idle) // limits the wait for a process that does not read, or a connection that hangs
	}
	if c.State != Written {
		return time.Time{}
	}
	var d time.Time
	if c.Limits.Idle > 0 && !c.Limits.Patient {
		d = c.heard.Add(c.Limits.Idle)
	}
	if c.Limits.Absolute > 0 {
		if a := c.written.Add(c.Limits.Absolute); d.IsZero() || a.Before(d) {
			d = a
		}
	}
	return d
}

// Ends returns the deadline that is shown to people. For a queued call, it is the end of its pool's queue timeout.
func (c *Call) Ends() time.Time {
	if c.State == Queued && c.Limits.Queue > 0 {
		return c.Began.Add(c.Limits.Queue)
	}
	return c.Deadline()
}

// Events of a call.
type (
	// Sent says that the request has been written to the server.
	Sent struct{}
	// Heard says that the server reported progress. Behind means that the client has already seen more progress; then the event
	// only resets the idle timeout.
	Heard struct {
		Frame  protocol.Frame
		Behind bool
	}
	// Logged says that the server sent a log line that belongs to the call.
	Logged struct{ Frame protocol.Frame }
	// Asked says that the server sent a request to the client and waits for the answer.
	Asked struct{}
	// Replied says that a server request was answered or canceled.
	Replied struct{}
	// Answered is the server's answer.
	Answered struct{ Frame protocol.Frame }
	// Broken is a gateway error instead of the server's answer.
	Broken struct{ Fault *protocol.Fault }
	// Withdrawn says that the client has canceled the call or disconnected. The client gets no answer.
	Withdrawn struct{ Reason string }
	// Tick says that the deadline may have passed.
	Tick struct{}
)

// EffectKind says what the holder has to do.
type EffectKind uint8

// The kinds of effects.
const (
	Forward EffectKind = iota // pass Frame (progress or log message) on to the client
	Deliver                   // answer the client with Frame; the call has ended
	Fail                      // answer the client with Fault; the call has ended
	Cancel                    // cancel the request at the server; Reason says why
	Forget                    // the call has ended without an answer
)

// Effect is one action for the holder. Its frame still carries the gateway's own ids and tokens.
type Effect struct {
	Kind   EffectKind
	Frame  protocol.Frame
	Fault  *protocol.Fault
	Reason string

	TimedOut bool // for Cancel: the server did not accept or answer the request in time
}
