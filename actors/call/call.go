// Package call is one request of a client while a server works on it: a value with a pure step, kept by
// whoever holds it (a session; later a desk). It knows neither its holder nor HTTP: the holder gives it events
// and carries out the effects it returns.
//
//	c := call.New(seq, rawID, token, limits)
//	out = c.Step(now, call.Heard{Frame: progress}, out)
//
// Every call ends with exactly one End effect, whatever comes in which order: what arrives later is ignored.
package call

import (
	"time"

	"goblin-actor/protocol"
)

// State is where a call stands. The legal ways are queued → written ⇄ parked, and from each to ended.
type State string

// Where a call can stand.
const (
	Queued  State = "queued"  // nothing has reached the server
	Written State = "written" // the server has the request
	Parked  State = "parked"  // the server waits for the client's answer to a question
	Ended   State = "ended"   // answered; nothing more comes of it
)

// Limits are a call's clocks; Idle and Absolute start when the request is written. 0 = none.
type Limits struct {
	Queue    time.Duration // how long its pool lets it wait; with Idle on top it ends even if nobody took it
	Idle     time.Duration // without answer and without progress
	Absolute time.Duration // whatever the progress
	Parked   time.Duration // a question without answer; the other clocks stand meanwhile
	Patient  bool          // Idle does not count once the request is written: its answer is the end of something else
}

// Call is one request on its way. Copy it never; its holder owns it.
type Call struct {
	Seq    uint64
	ID     []byte // the client's id, raw
	Token  []byte // the client's progress token, raw; nil = it wants no progress
	Server string
	Item   string // as the server calls it, for people
	Public string // as clients call it, for people; "" = unknown
	Client string // name and version of the client, for people
	Method protocol.Method
	State  State
	Began  time.Time
	Limits Limits

	written time.Time // when the clocks began; zero = not yet
	heard   time.Time // the last sign of life since
	asked   time.Time // when the oldest open question came
	asking  int       // open questions
}

// Deadline is when the call ends by itself; zero = never, or not yet known.
func (c *Call) Deadline() time.Time {
	if c.State == Parked && c.Limits.Parked > 0 {
		return c.asked.Add(c.Limits.Parked)
	}
	if c.State == Queued && c.Limits.Queue > 0 && c.Limits.Idle > 0 {
		return c.Began.Add(c.Limits.Queue + c.Limits.Idle) // a process that reads nothing, a connection that hangs
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

// Ends is the Deadline as people are shown it: a call that still waits for its server ends when the queue has had its time, which
// the server's pool sees to.
func (c *Call) Ends() time.Time {
	if c.State == Queued && c.Limits.Queue > 0 {
		return c.Began.Add(c.Limits.Queue)
	}
	return c.Deadline()
}

// Events of a call.
type (
	// Sent says that the server has the request.
	Sent struct{}
	// Heard says that the server reported progress. Behind: the client knows of more, so it is a sign of life only.
	Heard struct {
		Frame  protocol.Frame
		Behind bool
	}
	// Logged says that the server sent a log line that belongs to the call.
	Logged struct{ Frame protocol.Frame }
	// Asked says that the server asks the client something and waits.
	Asked struct{}
	// Replied says that one of its questions is answered, or withdrawn.
	Replied struct{}
	// Answered is the server's answer.
	Answered struct{ Frame protocol.Frame }
	// Broken is the gateway's own answer instead of the server's.
	Broken struct{ Fault *protocol.Fault }
	// Withdrawn says that the client cancelled, or left for good. It gets no answer.
	Withdrawn struct{ Reason string }
	// Tick says that the clock may have passed the deadline.
	Tick struct{}
)

// EffectKind says what the holder is to do.
type EffectKind uint8

// What a holder is told to do.
const (
	Forward EffectKind = iota // pass Frame (progress, log) on to the client, before the answer
	Deliver                   // answer the client with Frame; the call has ended
	Fail                      // answer the client with Fault; the call has ended
	Cancel                    // tell the server to stop working; Reason says why
	Forget                    // the call has ended without an answer
)

// Effect is one thing for the holder to do. Frames still carry the gateway's own ids and tokens.
type Effect struct {
	Kind   EffectKind
	Frame  protocol.Frame
	Fault  *protocol.Fault
	Reason string

	TimedOut bool // of a Cancel: the server did not take or answer the call in time
}
