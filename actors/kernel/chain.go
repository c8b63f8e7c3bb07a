package kernel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	timeSlice     = 200 * time.Microsecond // after which a busy goroutine yields the processor
	clockInterval = 8                      // messages before the clock is read again, and before the chain switches to another mailbox
	maxChain      = 8                      // mailboxes waiting in a chain; further ones go to other goroutines
	maxInline     = 32                     // maximum number of messages handled inline on a caller's goroutine
	unlimited     = math.MaxInt            // the same for a run on a dispatcher's goroutine
)

// chain is the list of mailboxes that one goroutine runs in turn: the first, and idle ones that received a message from
// an actor of the chain. So a call that passes through idle actors stays on one goroutine; waking another goroutine for
// each actor costs more than the actors' work. A chain is used by one goroutine at a time.
type chain struct {
	first, last *mailbox // linked by mailbox.nextInChain
	len         int
	left        int       // messages it may still handle
	count       int       // messages handled
	began       time.Time // start of the time slice; the clock is read only every clockInterval messages, because reading it costs as much as handling a message
	caller      uint64    // the inline call that the goroutine is running; 0 = none
	job         Job       // set by Self.RunInline
}

// Job is work that the goroutine of an inline call does when it has stopped running actors. It may block.
type Job = interface{ Do() }

var (
	chains      = sync.Pool{New: func() any { return new(chain) }}
	inlineCalls atomic.Uint64 // number of the newest inline call
)

// run handles up to share messages of m and of the mailboxes that join the chain, and schedules the rest on other
// goroutines. Then it does the job, if one was set. If a handler calls runtime.Goexit, a new goroutine does the job.
func run(m *mailbox, share int, caller uint64) {
	c := chains.Get().(*chain)
	c.left, c.caller = share, caller
	over := false
	defer func() {
		if !over { // runtime.Goexit in a handler
			if job := c.end(); job != nil {
				go job.Do()
			}
		}
	}()
	for c.push(m); c.first != nil && c.left > 0; {
		if m := c.pop(); m.turn(c) {
			c.push(m)
		}
	}
	over = true
	if job := c.end(); job != nil {
		job.Do()
	}
}

// end schedules the remaining mailboxes, releases the chain and returns its job, or nil if none was set.
func (c *chain) end() Job {
	for c.first != nil {
		c.pop().schedule()
	}
	job := c.job
	*c = chain{}
	chains.Put(c)
	return job
}

// setJob sets the job. It returns false if the goroutine is not running that inline call, or has a job already.
func (c *chain) setJob(caller uint64, job Job) bool {
	if caller == 0 || c.caller != caller || c.job != nil {
		return false
	}
	c.job = job
	return true
}

// take adds an idle mailbox to the chain. It returns false if the chain is nil or full, or if the system is simulated.
// The caller must then schedule the mailbox.
func (c *chain) take(m *mailbox) bool {
	if c == nil || m.simulated || c.len >= maxChain {
		return false
	}
	c.push(m)
	return true
}

func (c *chain) push(m *mailbox) {
	if c.last == nil {
		c.first = m
	} else {
		c.last.nextInChain = m
	}
	c.last = m
	c.len++
}

func (c *chain) pop() *mailbox {
	m := c.first
	if c.first = m.nextInChain; c.first == nil {
		c.last = nil
	}
	m.nextInChain = nil
	c.len--
	return m
}

// yields counts a message that is about to be handled. It reports whether it is another mailbox's turn, or the share is
// used up. After each timeSlice it also yields the processor to other goroutines.
func (c *chain) yields() bool {
	if c.left == 0 {
		return true
	}
	c.left--
	if c.count++; c.count%clockInterval != 0 {
		return false
	}
	if now := time.Now(); c.began.IsZero() {
		c.began = now
	} else if now.Sub(c.began) > timeSlice {
		runtime.Gosched()
		c.began = time.Time{}
	}
	return c.first != nil
}
