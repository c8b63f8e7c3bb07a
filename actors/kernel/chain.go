package kernel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	slice     = 200 * time.Microsecond // after which a busy goroutine lets others run
	clockEach = 8                      // messages after which it looks at the clock, and a busy actor lets those run that it has woken
	chainMost = 8                      // mailboxes that may wait in a chain: more are for other processors
	lentMost  = 32                     // messages that a goroutine which is only lent handles
	ownMost   = math.MaxInt            // that one of the dispatcher does
)

// chain is what one goroutine runs, one after the other: a mailbox, and those that were idle until an actor of the chain told
// them something. A call that wanders through idle actors does so on one goroutine; waking another one for each of them
// costs more than all they do. It is used by one goroutine at a time.
type chain struct {
	first, last *mailbox // by mailbox.after
	len         int
	left        int       // messages it may still handle
	count       int       // that it has handled
	began       time.Time // of a long run; the clock costs as much as a message does
	lender      uint64    // names the goroutine and what it was lent for; 0 = it cannot be lent any further
	job         Job       // of Self.Lend
}

// Job is what is done on a goroutine that was lent, when the actors on it have done their part. It may wait.
type Job = interface{ Do() }

var (
	chains  = sync.Pool{New: func() any { return new(chain) }}
	lenders atomic.Uint64 // the last chain.lender
)

// run handles the messages of m and of what they wake, share at most; what is left goes to other goroutines. Then it does the
// job that came of it, if one did.
func run(m *mailbox, share int, lender uint64) {
	c := chains.Get().(*chain)
	c.left, c.lender = share, lender
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

// end gives away what is left and returns the job.
func (c *chain) end() Job {
	for c.first != nil {
		c.pop().rouse()
	}
	job := c.job
	*c = chain{}
	chains.Put(c)
	return job
}

// lend notes the job; false: this is another goroutine than the lender's, or has one already.
func (c *chain) lend(lender uint64, job Job) bool {
	if lender == 0 || c.lender != lender || c.job != nil {
		return false
	}
	c.job = job
	return true
}

// take adds a mailbox that was idle; false: somebody else has to run it.
func (c *chain) take(m *mailbox) bool {
	if c == nil || m.single || c.len >= chainMost {
		return false
	}
	c.push(m)
	return true
}

func (c *chain) push(m *mailbox) {
	if c.last == nil {
		c.first = m
	} else {
		c.last.after = m
	}
	c.last = m
	c.len++
}

func (c *chain) pop() *mailbox {
	m := c.first
	if c.first = m.after; c.first == nil {
		c.last = nil
	}
	m.after = nil
	c.len--
	return m
}

// passes counts a message that is about to be handled. It reports whether another mailbox's turn has come, or the end of the share.
func (c *chain) passes() bool {
	if c.left == 0 {
		return true
	}
	c.left--
	if c.count++; c.count%clockEach != 0 {
		return false
	}
	if now := time.Now(); c.began.IsZero() {
		c.began = now
	} else if now.Sub(c.began) > slice {
		runtime.Gosched()
		c.began = time.Time{}
	}
	return c.first != nil
}
