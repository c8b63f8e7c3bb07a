package status

import (
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// Ended describes a call that has just ended. Its texts must not refer to a frame's memory.
type Ended struct {
	Session string // short id for display
	Holder  string // the part of Call.ID before the last slash
	Seq     uint64 // the part after it; 0 = the request did not become a call
	Client  string // name and version
	Who     string // name of the principal; "" = not authenticated
	Method  protocol.Method
	Item    string
	Public  string
	Outcome Outcome
	Began   time.Time
	Took    time.Duration

	Sent     time.Time // when the request was written to the server; zero = it was not
	Taken    Moment    // when the call left the queue
	Asked    Moment    // when the server first sent a request to the client
	Answered Moment    // when the server's answer arrived

	In, Out int64    // bytes of the request and of the answer
	Route   *Route   // the connection that carried the call; nil = none, or unknown
	Version string   // protocol version of the client
	Code    int      // JSON-RPC error code of the server's answer; 0 = a result, or no answer
	Failure *Failure // nil = a result

	Trace    *trace.Request  // nil = the request is not sampled
	Usage    *identity.Usage // counts of the client's principal; nil = those of local
	Counters *ItemCounters   // of the item; nil = the item is not counted separately
}

// Route names a connection to a server. It is immutable, and the calls of the connection share it.
type Route struct {
	Backend  string // Backend.Name
	Protocol string // protocol version of the server
	Node     string // the node of the cluster that the connection leads to; "" = this one, or none
}

// Failure is the error with which a call ended. It is immutable.
type Failure struct {
	Code string // name of the gateway's error, or number of the server's
	Text string // at most MaxErrorText bytes and an ellipsis
}

// MaxErrorText limits the stored text of an error, in bytes.
const MaxErrorText = 200

// Moment is a time in a call's life: nanoseconds since the call began, plus one. 0 = not reached.
type Moment int64

// MomentOf returns the Moment of the time at, for a call that began at the given time. It returns 0 if at is zero.
func MomentOf(began, at time.Time) Moment {
	if at.IsZero() {
		return 0
	}
	return Moment(max(0, at.Sub(began))) + 1
}

// In returns the time of the Moment, for a call that began at the given time. It returns the zero time for 0.
func (m Moment) In(began time.Time) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return began.Add(time.Duration(m - 1))
}
