package sim

import (
	"encoding/json"
	"strings"
	"time"

	"goblin-actor/protocol/downstream"
)

// wire is where a client reads: the response of a POST, or a stream it opened.
type wire interface {
	Next() (downstream.Seen, bool)
	Leave()
	Over() bool
}

// watch reads a wire to its end.
func (c *client) watch(x wire, a *ask) {
	c.reading[x] = true
	c.look(x, a)
}

// look reads the next thing after a while, or waits for the gateway to say that there is something.
func (c *client) look(x wire, a *ask) {
	if c.stalled {
		c.w.fate.After(time.Second, func() { c.look(x, a) })
		return
	}
	seen, ok := x.Next()
	if !ok {
		if x.Over() {
			delete(c.left, x)
			delete(c.reading, x)
			c.broke(x, a)
			return
		}
		c.waiting = append(c.waiting, func() { c.look(x, a) })
		return
	}
	c.w.fate.After(c.lag(), func() {
		if c.left[x] { // it broke while this was on its way
			delete(c.left, x)
			delete(c.reading, x)
			c.broke(x, a)
			return
		}
		c.read(x, a, seen)
		if seen.Last {
			delete(c.reading, x)
			c.ended(x, a)
			return
		}
		c.look(x, a)
	})
}

// read handles one thing that was seen.
func (c *client) read(x wire, a *ask, seen downstream.Seen) {
	if seen.EventID != "" {
		if a != nil {
			a.event = seen.EventID
		}
		if x == wire(c.stream) {
			c.streamEvent = seen.EventID
		}
	}
	c.see(a, seen)
}

// see handles the message in what was seen; a is whose response it came on, nil = a stream.
func (c *client) see(a *ask, seen downstream.Seen) {
	if a != nil && a.method == "initialize" && seen.Session != "" {
		c.session = seen.Session
	}
	if len(seen.Frame) == 0 {
		return
	}
	c.w.trace("%s ← %s", c.name, seen.Frame)
	c.overhears(a, seen.Frame)
	if !c.modern && strings.Contains(string(seen.Frame), "io.modelcontextprotocol/subscriptionId") {
		c.w.broken("%s has no listen streams, and was told %s", c.name, seen.Frame)
	}
	var e envelope
	if err := json.Unmarshal(seen.Frame, &e); err != nil {
		c.w.broken("%s was told what it cannot read: %v: %s", c.name, err, seen.Frame)
		return
	}
	switch {
	case e.Method != "" && e.ID != nil:
		c.question(a, &e)
	case e.Method != "":
		c.note(&e)
	default:
		c.answered(a, &e, seen)
	}
}

// ended: a wire has said its last.
func (c *client) ended(x wire, a *ask) {
	if a == nil {
		if x == wire(c.stream) {
			c.stream = nil
			c.w.fate.After(time.Second, c.listen)
		}
		return
	}
	if a == c.listening {
		c.listening = nil
		delete(c.open, a.id)
		c.w.fate.After(time.Second, c.listen)
	}
	if a.answers == 0 && (!a.given || a.cancelled && a.wire == x) && !a.streams {
		c.w.broken("the response of %s ended without an answer", a)
	}
}

// broke: the client sees that a wire is gone, which neither said its last nor was left by it.
func (c *client) broke(x wire, a *ask) {
	if x == wire(c.stream) {
		c.stream = nil
		c.w.fate.After(time.Second, c.listen)
		return
	}
	if a == nil {
		return
	}
	if a == c.listening {
		c.listening = nil
		delete(c.open, a.id)
		c.w.fate.After(time.Second, c.listen)
		return
	}
	if a.answers == 0 && !a.given {
		a.given = true
		c.w.count("a response that the gateway broke off")
	}
}

// leaves breaks a connection of the client.
func (c *client) leaves(x wire) {
	c.left[x] = true
	x.Leave()
	c.wake()
}

// wake looks again wherever there was nothing to see.
func (c *client) wake() {
	c.woken++
	for _, look := range c.waiting {
		c.w.fate.Schedule("", look)
	}
	c.waiting = nil
}
