package claim

import (
	"errors"
	"slices"
	"time"
)

// saw notes the content of the record, if it is newer than what is known, and reports another value to the caller.
func (c *Claims) saw(now time.Time, s Stored, live bool, out []any) []any {
	order := max(s.Revision, s.Order)
	readable := order == c.order && c.newest.Invalid != nil && s.Invalid == nil && s.Revision != 0 // with a secret that was added since
	if order == 0 || order == c.order && !readable {
		c.absent = order == 0 // maybe it was read from a voter that is behind; then a Put fails
		return out
	}
	if order < c.order {
		return out
	}
	live = live && c.order != 0 // the first record that a watch reports may be old
	c.newest, c.order, c.since, c.absent = s, order, now, false
	switch {
	case s.Revision == 0 && c.goal == idle: // the voters have lost the record
		c.goal = open
		return out
	case s.Revision == 0, s.Invalid != nil, s.Version == c.reported, c.goal == save, c.goal == replace:
		return out
	}
	c.goal = idle
	return c.report(live, out)
}

// exists reports whether the newest known record exists.
func (c *Claims) exists() bool { return c.newest.Revision != 0 && !c.absent }

// report reports the newest value to the caller.
func (c *Claims) report(live bool, out []any) []any {
	c.reported, c.local = c.newest.Version, c.newest.Value
	return append(out, Changed{c.newest.Value, live})
}

// advance begins the request that the goal needs next, or ends the goal.
func (c *Claims) advance(now time.Time, out []any) []any {
	if c.inFlight.number != 0 || c.goal == idle || c.goal == hold {
		return out
	}
	if !c.read {
		return c.get(now, out)
	}
	switch c.goal {
	case open:
		return c.opening(now, out)
	case renew:
		return c.renewing(now, out)
	case save:
		return c.saving(now, out)
	case release:
		return c.releasing(now, out)
	}
	return c.replacing(now, out)
}

func (c *Claims) get(now time.Time, out []any) []any {
	c.requests++
	c.inFlight = flight{number: c.requests, sent: now}
	return append(out, Get{c.requests})
}

func (c *Claims) put(now time.Time, r Record, out []any) []any {
	c.requests++
	c.inFlight = flight{c.requests, r, now}
	p := Put{Number: c.requests, Record: r}
	if c.exists() {
		p.Revision = c.newest.Revision
	}
	return append(out, p)
}

// opening creates the record if it does not exist.
func (c *Claims) opening(now time.Time, out []any) []any {
	if !c.exists() && c.local != nil {
		return c.put(now, c.copied(), out)
	}
	c.goal = idle
	return append(out, Opened{c.newest.Invalid})
}

// copied returns a record with the caller's copy of the value.
func (c *Claims) copied() Record {
	c.reported = c.tag()
	return Record{Value: c.local, Version: c.reported}
}

// renewing writes the claim, waits for the claim of another node, or contests it.
func (c *Claims) renewing(now time.Time, out []any) []any {
	r := c.newest.Record
	switch {
	case !c.exists() && c.local != nil:
		r = c.copied()
	case !c.exists(), c.newest.Invalid == nil && r.Value == nil:
		c.goal = idle
		return append(out, Changed{})
	case c.newest.Invalid != nil:
		c.goal = idle
		return append(out, NotClaimed{Err: c.newest.Invalid, Invalid: true})
	case r.Claim == "" && c.waited && r.Failure != "":
		c.goal = idle
		return append(out, NotClaimed{Err: errors.New(r.Failure), Remote: true})
	case r.Claim != "" && r.Claim != c.claim:
		return c.waiting(now, out)
	}
	return c.put(now, c.claimed(r), out)
}

// claimed returns r with the claim of this node.
func (c *Claims) claimed(r Record) Record {
	if c.claim == "" || r.Claim != c.claim {
		c.claim = c.tag()
	}
	r.Claim, r.Contest, r.Failure = c.claim, "", ""
	return r
}

// waiting waits until the claim of another node is stale. Then it contests the claim, and takes it over after contestAfter. It reads
// the record in between: if the voters are unavailable, the claimant cannot answer, and the contest does not count.
func (c *Claims) waiting(now time.Time, out []any) []any {
	c.waited = true
	r := c.newest.Record
	age := now.Sub(c.since)
	switch contested := r.Contest != "" && r.Contest == c.contest.tag; {
	case contested && (age < contestAfter || c.contest.reads < contestReads):
		return c.wake(contestCheck, out)
	case contested:
		return c.put(now, c.claimed(r), out)
	case age < staleAfter:
		return c.wake(staleAfter-age, out)
	}
	c.contest = contest{tag: c.tag()}
	r.Contest = c.contest.tag
	return c.put(now, r, out)
}

// saving writes the value that was obtained, unless another value has taken the place of the one that was claimed.
func (c *Claims) saving(now time.Time, out []any) []any {
	r := c.newest
	switch {
	case c.exists() && r.Version == c.next.Version:
		return c.saved(nil, out)
	case !c.exists(), r.Invalid == nil && r.Version == c.base && r.Ended == 0:
		c.next.Logins = r.Logins
		return c.put(now, c.next, out)
	}
	c.goal, c.claim = idle, ""
	out = append(out, Overtaken{r.Ended != 0})
	if r.Invalid != nil {
		return out
	}
	return c.report(false, out)
}

// saved ends the goal.
func (c *Claims) saved(previous []byte, out []any) []any {
	c.goal, c.claim, c.contest = idle, "", contest{}
	return append(out, Saved{previous})
}

// releasing removes the claim of this node.
func (c *Claims) releasing(now time.Time, out []any) []any {
	r := c.newest.Record
	if !c.exists() || c.newest.Invalid != nil || r.Claim != c.claim {
		c.goal, c.claim = idle, ""
		return out
	}
	r.Claim, r.Contest, r.Failure = "", "", c.next.Failure
	return c.put(now, r, out)
}

// replacing writes the value of Replace.
func (c *Claims) replacing(now time.Time, out []any) []any {
	r := c.newest
	switch {
	case c.exists() && slices.Contains(r.Logins, c.next.Version): // it was written, and maybe renewed or replaced since
		out = c.saved(c.previous, out)
		if r.Version == c.reported {
			return out
		}
		return c.report(false, out)
	case c.next.Value == nil && c.exists() && r.Ended != 0, c.next.Value == nil && !c.exists() && c.previous == nil:
		return c.saved(nil, out) // there is nothing to remove
	case c.exists() && r.Value != nil:
		c.previous = r.Value
	}
	before := r.Logins[max(0, len(r.Logins)-maxLogins+1):]
	c.next.Logins = append(slices.Clone(before), c.next.Version)
	return c.put(now, c.next, out)
}

// written handles the result of a Put.
func (c *Claims) written(now time.Time, m Written, out []any) []any {
	f := c.inFlight
	c.inFlight = flight{}
	switch {
	case errors.Is(m.Err, ErrChanged):
		c.read = false
		if c.conflict++; c.conflict > maxConflicts {
			c.conflict = 0
			return c.failed(errConflicts, out)
		}
		return c.wake(conflictPause, out)
	case m.Err != nil:
		return c.failed(m.Err, out)
	}
	c.conflict, c.failures = 0, 0
	if m.Revision > c.order {
		c.newest, c.order, c.since, c.absent = Stored{Record: f.record, Revision: m.Revision}, m.Revision, now, false
	}
	if c.goal == renew && c.newest.Revision == m.Revision && f.record.Claim == c.claim && c.claim != "" && passed(f.sent, now) <= maxSent {
		c.goal, c.base = hold, c.newest.Version
		return append(out, Claimed{c.newest.Value, f.sent.Add(maxSent + maxUse)})
	}
	return c.advance(now, out)
}
