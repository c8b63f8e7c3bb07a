package sim

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/protocol/downstream"
)

// act does one thing a client may do.
func (c *client) act() {
	w := c.w
	if c.state == "gone" {
		return
	}
	if !c.modern && c.state == "" {
		c.begin("")
		return
	}
	if !c.ready() {
		return
	}
	switch how := w.crng.IntN(100); {
	case how < 1 && w.fault(200):
		for range 400 {
			c.send("tools/list", "", "")
		}
		w.attacked("a flood of requests")
	case how < 55:
		c.call(w.anyTool(), 0, "")
	case how < 62:
		c.send("tools/list", "", "")
	case how < 66:
		uri := w.anyURI()
		c.send("resources/read", uri, fmt.Sprintf(`,"uri":%q`, uri))
	case how < 74:
		c.subscribe(w.anyURI())
	case how < 77:
		c.unsubscribe()
	case how < 86:
		c.cancel()
	case how < 91:
		c.breakOff()
	case how < 94:
		c.stall()
	case how < 95 && !c.modern:
		c.leave()
	case how < 97 && !c.modern:
		w.count("a burst of calls")
		for range 20 {
			c.call(w.anyTool(), 0, "")
		}
	case how < 98:
		c.complete("x")
	case how < 99 && !c.modern:
		c.send("logging/setLevel", "", fmt.Sprintf(`,"level":%q`, pick(w.crng, levels)))
	default:
		if !c.modern {
			c.send("ping", "", "")
		}
	}
}

// begin opens a session.
func (c *client) begin(string) *ask {
	for _, a := range c.open {
		a.given = true
	}
	c.session, c.state = "", "opening"
	c.open, c.subs, c.list = map[int]*ask{}, map[string]*subscribed{}, nil
	c.unsure, c.asked, c.withdrawn, c.lines = map[string]bool{}, map[string]*ask{}, map[string]bool{}, map[string]bool{}
	if c.stream != nil {
		c.leaves(c.stream)
		c.stream = nil
	}
	c.streamEvent = ""
	a := c.send("initialize", "", fmt.Sprintf(`,"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":"1"}`, c.version(), c.capabilities(), c.name))
	c.w.fate.After(2*time.Second, c.listen)
	return a
}

// call calls a tool; a nonce of 0 is a new call.
func (c *client) call(tool string, nonce int, rest string) *ask {
	if nonce == 0 {
		c.w.book.nonces++
		nonce = c.w.book.nonces
		c.w.toolOf[nonce] = tool
	}
	word := ""
	if do := c.w.wordOf[nonce]; do != "" { // who comes back asks the same
		word = fmt.Sprintf(`,"do":%q`, do)
	}
	name, arguments := tool, fmt.Sprintf(`{"nonce":%d%s}`, nonce, word)
	if c.w.metaTools() && nonce%3 == 0 && c.seesTool("goblin_call_tool") { // by the gateway's own tool, which is to make no difference
		name, arguments = "goblin_call_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
	}
	a := c.send("tools/call", name, fmt.Sprintf(`,"name":%q,"arguments":%s%s`, name, arguments, rest))
	a.nonce = nonce
	c.w.book.askOf[nonce] = a
	return a
}

// listen opens the stream for what belongs to no request.
func (c *client) listen() {
	if c.honest && c.state == "opening" { // turns are put off; a session without a stream makes room for others when there are too many
		c.w.fate.After(time.Second, c.listen)
		return
	}
	if c.state == "gone" || !c.ready() {
		return
	}
	if c.modern {
		if c.listening != nil {
			return
		}
		var uris []string
		for _, uri := range sortedKeys(c.w.wants(c)) {
			uris = append(uris, fmt.Sprintf("%q", uri))
		}
		c.acked = 0
		c.subs = map[string]*subscribed{}
		a := c.send("subscriptions/listen", "", fmt.Sprintf(`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%s]}`, strings.Join(uris, ",")))
		if a.streams = true; a.answers > 0 { // refused before it was one
			c.w.fate.After(time.Second, c.listen)
			return
		}
		c.listening = a
		return
	}
	if c.stream != nil {
		return
	}
	o := c.origin("", "")
	o.LastEvent = c.streamEvent
	if o.LastEvent != "" {
		c.w.count("a stream that goes on")
	}
	c.stream = c.pipe.Open(o)
	c.watch(c.stream, nil)
}

// subscribe wants to hear of a resource.
func (c *client) subscribe(uri string) {
	c.w.wanted[c.name+" "+uri] = true
	if c.modern {
		if c.listening != nil { // with the next stream
			c.leaveStream()
		}
		return
	}
	c.aim(uri)
	c.about("subscribe", uri)
}

// about sends a resources/subscribe or unsubscribe of a legacy client.
func (c *client) about(what, uri string) *ask {
	a := c.send("resources/"+what, uri, fmt.Sprintf(`,"uri":%q`, uri))
	a.uri = uri
	return a
}

// aim notes that the client changes its mind about a resource: with two such requests under way nobody knows which
// comes first.
func (c *client) aim(uri string) {
	for _, a := range c.open {
		if a.uri == uri {
			c.unsure[uri] = true
		}
	}
	if s := c.subs[uri]; s != nil {
		s.unsure = s.unsure || c.unsure[uri]
	}
}

// comeTo: the storm is over. Who has lost its session begins another; all listen, and subscribe again.
func (c *client) comeTo() {
	if c.modern {
		c.listen()
		return
	}
	if c.state != "ready" {
		c.begin("")
	} else {
		c.send("ping", "", "")
	}
	c.w.fate.After(20*time.Second, func() {
		c.listen()
		for _, uri := range sortedKeys(c.w.wants(c)) {
			if c.subs[uri] == nil {
				c.subscribe(uri)
			}
		}
	})
}

// unsubscribe no longer wants to hear of one.
func (c *client) unsubscribe() {
	if c.modern {
		return
	}
	for _, id := range sortedKeys(c.open) { // also of what is not answered yet
		if a := c.open[id]; a.method == "resources/subscribe" && c.w.crng.IntN(2) == 0 {
			c.aim(a.uri)
			delete(c.subs, a.uri)
			c.about("unsubscribe", a.uri)
			return
		}
	}
	for _, uri := range sortedKeys(c.subs) {
		c.aim(uri)
		delete(c.subs, uri)
		c.about("unsubscribe", uri)
		return
	}
}

// some returns one of the calls that are not answered, nil = none.
func (c *client) some() *ask {
	var calls []*ask
	for _, id := range sortedKeys(c.open) {
		if a := c.open[id]; strings.HasPrefix(a.method, "tools/call") && !a.given {
			calls = append(calls, a)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return calls[c.w.crng.IntN(len(calls))]
}

// cancel gives a call up, in the manner of the era.
func (c *client) cancel() {
	a := c.some()
	if a == nil {
		return
	}
	c.giveUp(a)
}

// giveUp cancels a call.
func (c *client) giveUp(a *ask) {
	a.given = true
	c.w.count("a call cancelled by its client")
	if c.modern {
		delete(c.open, a.id)
		c.leaves(a.wire)
		return
	}
	a.cancelled = true
	c.post(nil, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, a.id), c.origin("", ""))
}

// breakOff loses a connection. A legacy client may come back for what it has missed.
func (c *client) breakOff() {
	if c.w.crng.IntN(2) == 0 {
		c.leaveStream()
		return
	}
	a := c.some()
	if a == nil || c.modern {
		return
	}
	x, ok := a.wire.(*downstream.PipeExchange)
	if !ok {
		return
	}
	if a.event == "" || c.w.crng.IntN(2) == 0 {
		c.w.count("a response that broke, for good")
		a.given = true
		c.leaves(x)
		return
	}
	c.w.count("a response that broke and goes on")
	c.leaves(x)
	c.w.fate.After(c.lag(), func() {
		if c.state != "ready" {
			a.given = true
			return
		}
		o := c.origin("", "")
		o.LastEvent = a.event
		st := c.pipe.Open(o)
		a.wire, a.given = st, true // it may be too late
		c.watch(st, a)
	})
}

func (c *client) leaveStream() {
	switch {
	case c.stream != nil:
		c.w.count("a stream that broke")
		c.leaves(c.stream)
	case c.listening != nil && c.listening.wire != nil:
		c.w.count("a listen stream that broke")
		c.listening.given = true
		c.leaves(c.listening.wire)
	}
	c.wake()
}

// stall reads nothing for a while.
func (c *client) stall() {
	c.w.count("a client that does not read")
	c.stalled = true
	c.w.fate.After(c.w.patience()*4, func() { c.stalled = false })
}

// leave ends the session, or vanishes.
func (c *client) leave() {
	c.w.count("a client that leaves")
	if c.w.crng.IntN(2) == 0 {
		c.watch(c.pipe.Delete(c.origin("", "")), nil)
	}
	for _, a := range c.open {
		a.given = true
	}
	c.state = "closed"
	if c.stream != nil {
		c.leaves(c.stream)
		c.stream = nil
	}
	c.wake()
	c.w.fate.After(c.w.patience(), func() {
		if c.state == "closed" {
			c.begin("")
		}
	})
}
