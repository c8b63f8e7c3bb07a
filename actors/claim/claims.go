package claim

import (
	"encoding/json"
	"errors"
	"time"
)

// KeepEnded is how long the record of a value that was removed is kept at least, so that a node that was stopped meanwhile learns of it.
const KeepEnded = 90 * 24 * time.Hour

// Timing of claims.
const (
	staleAfter   = 45 * time.Second // a claim that a node has seen unchanged for so long is contested
	contestAfter = 15 * time.Second // a contest that was not overwritten for so long ends the claim
	maxSent      = 10 * time.Second // a claim is held only if its Put took no longer
	maxUse       = 15 * time.Second // for obtaining the new value after that
	contestCheck = 3 * time.Second  // between two reads during a contest
	contestReads = 5                // that must succeed, each within maxCheck; else the claimant may have been unable to answer
	maxCheck     = 2 * time.Second
)

// Pauses before the next attempt.
const (
	conflictPause = 100 * time.Millisecond
	retryMin      = time.Second
	retryMax      = 10 * time.Second
	maxConflicts  = 50 // in a row, after which Want gives up
)

var errConflicts = errors.New("the record of the login was changed too often by other nodes")

// goal is what Claims wants to achieve.
type goal string

const (
	idle    goal = "idle"    // nothing: watch the record
	open    goal = "open"    // read the record for the first time, and create it if it does not exist
	renew   goal = "renew"   // claim the value
	hold    goal = "hold"    // the claim is held; the caller obtains a new value
	save    goal = "save"    // write the value that was obtained
	release goal = "release" // write that the claim has ended without a new value
	replace goal = "replace" // write a value whatever the record contains, or remove the value
)

// Claims is the state of one shared record. The zero value is not usable; see New.
type Claims struct {
	tag func() string // returns a new tag

	newest   Stored          // newest known content
	order    uint64          // revision of newest, or of the record's deletion
	since    time.Time       // when this node has first seen newest
	absent   bool            // the record was read as absent after newest was seen
	read     bool            // newest was read or written since the last conflict or error
	reported string          // Version that the caller knows
	local    json.RawMessage // the value that the caller knows

	goal     goal
	claim    string // tag of this node's claim, also while the result of writing it is unknown; "" = none
	contest  contest
	waited   bool            // a claim of another node was seen since Want
	next     Record          // with save, release and replace: what is to be written
	base     string          // with save: Version that was claimed
	previous json.RawMessage // with replace: the value that is replaced

	inFlight flight
	requests uint64
	timer    uint64 // number of the newest Wake
	failures int    // consecutive errors
	conflict int    // consecutive conflicts
}

// contest is this node's contest of another node's claim. The zero value is none.
type contest struct {
	tag   string
	reads int // so often the record was found unchanged since
}

// flight is the request in progress.
type flight struct {
	number uint64    // 0 = there is none
	record Record    // of a Put
	sent   time.Time // when it was returned to the caller
}

// New returns the state of a record that has not been read. newTag returns a text of at most 64 bytes that no other call on any node
// returns.
func New(newTag func() string) *Claims { return &Claims{tag: newTag, goal: idle} }

// Results of Claims. The caller performs Get, Put and Wake, and reports their results to Step. All others are outcomes.
type (
	// Get asks for Store.Get.
	Get struct{ Number uint64 }
	// Put asks for Store.Put.
	Put struct {
		Number   uint64
		Record   Record
		Revision uint64
	}
	// Wake asks for a Woken after a time.
	Wake struct {
		After time.Duration
		Timer uint64
	}
	// Changed says that the record contains another value than the caller knows. It ends Open and Want.
	Changed struct {
		Value json.RawMessage // nil = the value was removed
		Live  bool            // it was seen soon after it had been written
	}
	// Opened ends Open: the record does not exist, contains the value that the caller knows, or cannot be used because of Err.
	Opened struct{ Err error }
	// Claimed ends Want: the caller, and no other node, may use the value to obtain the next one. It must have ended before Until, and
	// then call Done or GiveUp.
	Claimed struct {
		Value json.RawMessage
		Until time.Time
	}
	// NotClaimed ends Want: the value cannot be renewed now.
	NotClaimed struct {
		Err     error
		Remote  bool // another node could not renew it
		Invalid bool // the record cannot be used; see Stored.Invalid
	}
	// Saved ends Done and Replace: the value is in the record.
	Saved struct{ Previous json.RawMessage } // with Replace: what the record contained before; nil = no value
	// Unsaved says that the value could not be written yet. Claims tries again.
	Unsaved struct{ Err error }
	// Overtaken ends Done: the record contains another value, which a Changed reports, or none.
	Overtaken struct{ Ended bool } // the value was removed
	// Unreachable says that the record could not be read yet. Claims tries again.
	Unreachable struct{ Err error }
)

// Results of what the caller performs, for Step.
type (
	// Seen is a change that Store.Watch has reported.
	Seen struct{ Stored }
	// Got is the result of a Get.
	Got struct {
		Number uint64
		Stored Stored
		Err    error
	}
	// Written is the result of a Put.
	Written struct {
		Number   uint64
		Revision uint64
		Err      error
	}
	// Woken is the end of a Wake.
	Woken struct{ Timer uint64 }
)

// Open begins to read the record. value is the caller's copy; nil = the caller has none. If the record does not exist, Open writes the
// copy.
func (c *Claims) Open(now time.Time, value json.RawMessage, out []any) []any {
	c.local = value
	c.goal, c.read = open, false
	return c.advance(now, out)
}

// Resume continues after the results of the requests in progress were lost.
func (c *Claims) Resume(now time.Time, out []any) []any {
	c.inFlight, c.read = flight{}, false
	switch c.goal {
	case renew, hold, idle, release:
		c.goal, c.reported = open, ""
	}
	return c.advance(now, out)
}

// Want begins to claim the value, unless it is already being claimed, replaced or saved.
func (c *Claims) Want(now time.Time, out []any) []any {
	switch c.goal {
	case idle, open, release:
		c.begin(renew)
		c.read = c.read && c.newest.Invalid == nil // maybe it can be used now
	}
	return c.advance(now, out)
}

// Unusable reports whether the record could not be used when it was seen last; see Stored.Invalid.
func (c *Claims) Unusable() bool { return c.newest.Invalid != nil }

// Holds reports whether the caller holds the claim.
func (c *Claims) Holds() bool { return c.goal == hold }

// Done writes the value that was obtained under the claim. It returns false if the claim is not held.
func (c *Claims) Done(now time.Time, value json.RawMessage, out []any) ([]any, bool) {
	if c.goal != hold {
		return out, false
	}
	c.begin(save)
	c.next = Record{Value: value, Version: c.tag()}
	c.reported, c.local = c.next.Version, value
	return c.advance(now, out), true
}

// GiveUp ends the claim without a new value. It tells the other nodes why.
func (c *Claims) GiveUp(now time.Time, why string, out []any) []any {
	if c.goal != hold {
		return out
	}
	c.begin(release)
	c.next = Record{Failure: why}
	return c.advance(now, out)
}

// Replace writes a value whatever the record contains. If value is nil, it removes the value instead; the record stays.
func (c *Claims) Replace(now time.Time, value json.RawMessage, out []any) []any {
	if c.goal == replace && value == nil && c.next.Value == nil {
		return out // it is being removed already
	}
	var previous json.RawMessage
	if c.goal == replace { // the record may contain what was written last, and its result may be lost
		previous = c.previous
	}
	c.begin(replace)
	c.next, c.previous = Record{Value: value, Version: c.tag()}, previous
	if value == nil {
		c.next.Ended = max(now.Unix(), 1)
		if c.previous == nil {
			c.previous = c.local
		}
	}
	c.reported, c.local = c.next.Version, value
	return c.advance(now, out)
}

// begin sets the goal.
func (c *Claims) begin(g goal) {
	c.goal, c.failures, c.conflict, c.waited, c.previous = g, 0, 0, false, nil
	c.timer++
}

// Step applies a result.
func (c *Claims) Step(now time.Time, msg any, out []any) []any {
	switch m := msg.(type) {
	case Seen:
		out = c.saw(now, m.Stored, true, out)
	case Got:
		if m.Number != c.inFlight.number {
			return out
		}
		if passed(c.inFlight.sent, now) > maxCheck {
			c.contest = contest{}
		}
		c.inFlight = flight{}
		if m.Err != nil {
			return c.failed(m.Err, out)
		}
		c.read, c.failures = true, 0
		c.contest.reads++
		out = c.saw(now, m.Stored, false, out)
	case Written:
		if m.Number != c.inFlight.number {
			return out
		}
		return c.written(now, m, out)
	case Woken:
		if m.Timer != c.timer {
			return out
		}
		if c.contest.tag != "" {
			c.read = false
		}
	}
	return c.advance(now, out)
}

// wake schedules the next advance in place of the one scheduled before.
func (c *Claims) wake(d time.Duration, out []any) []any {
	c.timer++
	return append(out, Wake{d, c.timer})
}

// failed handles an error of the store.
func (c *Claims) failed(err error, out []any) []any {
	c.read, c.contest = false, contest{}
	c.failures++
	switch c.goal {
	case renew:
		c.goal = idle
		return append(out, NotClaimed{Err: err})
	case idle, hold:
		return out
	case open:
		return c.wake(min(retryMin<<min(c.failures-1, 8), retryMax), append(out, Unreachable{err}))
	case save, replace:
		out = append(out, Unsaved{err})
	}
	return c.wake(retryMin, out) // soon enough to answer a contest
}

// passed returns the time from t to now, by the monotonic clock or the wall clock, whichever is longer: the machine may have been
// suspended.
func passed(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
