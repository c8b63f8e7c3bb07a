package sim

import (
	"encoding/json"
	"strings"
	"time"

	"goblin-actor/tests/sim/pipeclient"
)

// responseReader delivers the response to a POST or DELETE, or a stream that the client opened.
type responseReader interface {
	Next() (pipeclient.Seen, bool)
	Leave()
	Over() bool
}

// startReading reads x to its end. a is the request that x responds to, or nil for a stream.
func (c *client) startReading(x responseReader, a *clientRequest) {
	c.reading[x] = true
	c.readNext(x, a)
}

// readNext reads the next message after a while, or waits until the gateway has one.
func (c *client) readNext(x responseReader, a *clientRequest) {
	if c.stalled {
		c.w.scheduler.After(time.Second, func() { c.readNext(x, a) })
		return
	}
	seen, ok := x.Next()
	if !ok {
		if x.Over() {
			delete(c.dropped, x)
			delete(c.reading, x)
			c.readerBroke(x, a)
			return
		}
		c.blockedReads = append(c.blockedReads, func() { c.readNext(x, a) })
		return
	}
	c.w.scheduler.After(c.latency(), func() {
		if c.dropped[x] { // dropped while the message was in transit
			delete(c.dropped, x)
			delete(c.reading, x)
			c.readerBroke(x, a)
			return
		}
		c.read(x, a, seen)
		if seen.Last {
			delete(c.reading, x)
			c.readerEnded(x, a)
			return
		}
		c.readNext(x, a)
	})
}

// read handles one event of x.
func (c *client) read(x responseReader, a *clientRequest, seen pipeclient.Seen) {
	if seen.EventID != "" {
		if a != nil {
			a.lastEventID = seen.EventID
		}
		if x == responseReader(c.stream) {
			c.lastEventID = seen.EventID
		}
	}
	c.handle(a, seen)
}

// handle handles a received message. a is the request on whose response it came, or nil for a stream.
func (c *client) handle(a *clientRequest, seen pipeclient.Seen) {
	if a != nil && a.method == "initialize" && seen.Session != "" {
		c.session, c.owner = seen.Session, a.principal
	}
	if len(seen.Frame) == 0 {
		return
	}
	c.w.trace("%s ← %s", c.name, seen.Frame)
	c.checkSource(a, seen.Frame)
	if !c.modern && strings.Contains(string(seen.Frame), "io.modelcontextprotocol/subscriptionId") {
		c.w.violated("%s has no listen streams, but received %s", c.name, seen.Frame)
	}
	var e frameToClient
	if err := json.Unmarshal(seen.Frame, &e); err != nil {
		c.w.violated("%s received invalid JSON: %v: %s", c.name, err, seen.Frame)
		return
	}
	switch {
	case e.Method != "" && e.ID != nil:
		c.handleQuestion(a, &e)
	case e.Method != "":
		c.handleNotification(&e)
	default:
		c.handleResponse(a, &e, seen)
	}
}

// readerEnded handles the regular end of x.
func (c *client) readerEnded(x responseReader, a *clientRequest) {
	if a == nil {
		if x == responseReader(c.stream) {
			c.stream = nil
			c.w.scheduler.After(time.Second, c.listen)
		}
		return
	}
	if a == c.listening {
		c.listening = nil
		delete(c.pending, a.id)
		c.w.scheduler.After(time.Second, c.listen)
	}
	if a.answers == 0 && (!a.abandoned || a.cancelled && a.reader == x) && !a.isStream {
		c.w.violated("the response of %s ended without a result or error", a)
	}
}

// readerBroke handles the end of x without a last message.
func (c *client) readerBroke(x responseReader, a *clientRequest) {
	if x == responseReader(c.stream) {
		c.stream = nil
		c.w.scheduler.After(time.Second, c.listen)
		return
	}
	if a == nil {
		return
	}
	if a == c.listening {
		c.listening = nil
		delete(c.pending, a.id)
		c.w.scheduler.After(time.Second, c.listen)
		return
	}
	if a.answers == 0 && !a.abandoned {
		a.abandoned = true
		c.w.count("a response that the gateway broke")
	}
}

// dropReader closes x from the client's side.
func (c *client) dropReader(x responseReader) {
	c.dropped[x] = true
	x.Leave()
	c.resumeReads()
}

// resumeReads repeats the reads that found nothing.
func (c *client) resumeReads() {
	c.wakeups++
	for _, look := range c.blockedReads {
		c.w.scheduler.Schedule(look)
	}
	c.blockedReads = nil
}
