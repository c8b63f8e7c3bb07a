package sim

import (
	"fmt"
	"strings"
	"time"

	"goblin-actor/tests/sim/pipeclient"
)

// act performs a random action.
func (c *client) act() {
	w := c.w
	if c.state == "gone" {
		return
	}
	if !c.modern && c.state == "" {
		c.initialize()
		return
	}
	if !c.ready() {
		return
	}
	switch how := w.clientRand.IntN(100); {
	case how < 1 && w.fault(200):
		for range 400 {
			c.send("tools/list", "", "")
		}
		w.attackStarted("a flood of requests")
	case how < 55:
		c.call(w.randomTool(), 0, "")
	case how < 62:
		c.send("tools/list", "", "")
	case how < 66:
		uri := w.randomURI()
		c.send("resources/read", uri, fmt.Sprintf(`,"uri":%q`, uri))
	case how < 74:
		c.subscribe(w.randomURI())
	case how < 77:
		c.unsubscribe()
	case how < 86:
		c.cancelOne()
	case how < 91:
		c.dropConnection()
	case how < 94:
		c.stall()
	case how < 95 && !c.modern:
		c.leave()
	case how < 97 && !c.modern:
		w.count("a burst of calls")
		for range 20 {
			c.call(w.randomTool(), 0, "")
		}
	case how < 98:
		c.complete("x")
	case how < 99 && !c.modern:
		c.send("logging/setLevel", "", fmt.Sprintf(`,"level":%q`, pick(w.clientRand, logLevels)))
	default:
		if !c.modern {
			c.send("ping", "", "")
		}
	}
}

// initialize opens a session.
func (c *client) initialize() *clientRequest {
	for _, a := range c.pending {
		a.abandoned = true
	}
	c.session, c.state = "", "opening"
	c.pending, c.subs, c.list = map[int]*clientRequest{}, map[string]*subscription{}, nil
	c.concurrent, c.questions, c.withdrawn, c.logLines = map[string]bool{}, map[string]*clientRequest{}, map[string]bool{}, map[string]bool{}
	if c.stream != nil {
		c.dropReader(c.stream)
		c.stream = nil
	}
	c.lastEventID = ""
	a := c.send("initialize", "", fmt.Sprintf(`,"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":"1"}`, c.version(), c.capabilities(), c.name))
	c.w.scheduler.After(2*time.Second, c.listen)
	return a
}

// call calls a tool. A nonce of 0 starts a new call; otherwise the call continues.
func (c *client) call(tool string, nonce int, rest string) *clientRequest {
	if nonce == 0 {
		c.w.history.nonces++
		nonce = c.w.history.nonces
		c.w.toolOf[nonce] = tool
	}
	word := ""
	if do := c.w.instructionOf[nonce]; do != "" { // a call that continues has the same arguments
		word = fmt.Sprintf(`,"do":%q`, do)
	}
	name, arguments := tool, fmt.Sprintf(`{"nonce":%d%s}`, nonce, word)
	if c.w.listsMetaTools() && nonce%3 == 0 && c.seesTool("goblin_call_tool") { // through the gateway's own tool, which must make no difference
		name, arguments = "goblin_call_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
	}
	a := c.send("tools/call", name, fmt.Sprintf(`,"name":%q,"arguments":%s%s`, name, arguments, rest))
	a.nonce = nonce
	c.w.history.lastRequest[nonce] = a
	return a
}

// listen opens the stream for messages that belong to no request.
func (c *client) listen() {
	if c.honest && c.state == "opening" { // turns are delayed; retry, because a session without a stream may be closed to make room
		c.w.scheduler.After(time.Second, c.listen)
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
		for _, uri := range sortedKeys(c.w.wantedURIs(c)) {
			uris = append(uris, fmt.Sprintf("%q", uri))
		}
		c.ackedAt = 0
		c.subs = map[string]*subscription{}
		a := c.send("subscriptions/listen", "", fmt.Sprintf(`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":[%s]}`, strings.Join(uris, ",")))
		if a.isStream = true; a.answers > 0 { // refused before it was a stream
			c.w.scheduler.After(time.Second, c.listen)
			return
		}
		c.listening = a
		return
	}
	if c.stream != nil {
		return
	}
	o := c.origin("", "")
	o.LastEvent = c.lastEventID
	if o.LastEvent != "" {
		c.w.count("a resumed stream")
	}
	c.stream = c.open(o)
	c.startReading(c.stream, nil)
}

// subscribe subscribes to updates of a resource.
func (c *client) subscribe(uri string) {
	c.w.everSubscribed[c.name+" "+uri] = true
	if c.modern {
		if c.listening != nil { // takes effect with the next stream
			c.dropStream()
		}
		return
	}
	c.noteConcurrent(uri)
	c.sendSubscription("subscribe", uri)
}

// sendSubscription sends resources/subscribe or resources/unsubscribe for a legacy client.
func (c *client) sendSubscription(what, uri string) *clientRequest {
	a := c.send("resources/"+what, uri, fmt.Sprintf(`,"uri":%q`, uri))
	a.uri = uri
	return a
}

// noteConcurrent records whether another subscription request for the resource is in progress. The order in which the
// server handles the two is unknown.
func (c *client) noteConcurrent(uri string) {
	for _, a := range c.pending {
		if a.uri == uri {
			c.concurrent[uri] = true
		}
	}
	if s := c.subs[uri]; s != nil {
		s.concurrent = s.concurrent || c.concurrent[uri]
	}
}

// recover restores the client after the storm: it opens a session if it has none, listens, and subscribes again.
func (c *client) recover() {
	if c.modern {
		c.listen()
		return
	}
	if c.state != "ready" {
		c.initialize()
	} else {
		c.w.at(c.informed(), func() { c.send("ping", "", "") })
	}
	c.w.scheduler.After(20*time.Second, func() {
		c.listen()
		for _, uri := range sortedKeys(c.w.wantedURIs(c)) {
			if c.subs[uri] == nil {
				c.subscribe(uri)
			}
		}
	})
}

// unsubscribe ends a subscription of a legacy client.
func (c *client) unsubscribe() {
	if c.modern {
		return
	}
	for _, id := range sortedKeys(c.pending) { // subscriptions that are not confirmed yet
		if a := c.pending[id]; a.method == "resources/subscribe" && c.w.clientRand.IntN(2) == 0 {
			c.noteConcurrent(a.uri)
			delete(c.subs, a.uri)
			c.sendSubscription("unsubscribe", a.uri)
			return
		}
	}
	for _, uri := range sortedKeys(c.subs) {
		c.noteConcurrent(uri)
		delete(c.subs, uri)
		c.sendSubscription("unsubscribe", uri)
		return
	}
}

// randomPending returns a random tool call without a response, or nil if there is none.
func (c *client) randomPending() *clientRequest {
	var calls []*clientRequest
	for _, id := range sortedKeys(c.pending) {
		if a := c.pending[id]; strings.HasPrefix(a.method, "tools/call") && !a.abandoned {
			calls = append(calls, a)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return calls[c.w.clientRand.IntN(len(calls))]
}

// cancelOne cancels a random tool call without a response, if there is one.
func (c *client) cancelOne() {
	a := c.randomPending()
	if a == nil {
		return
	}
	c.abandon(a)
}

// abandon cancels a call, as its era prescribes.
func (c *client) abandon(a *clientRequest) {
	a.abandoned = true
	c.w.count("a call canceled by its client")
	if c.modern {
		delete(c.pending, a.id)
		c.dropReader(a.reader)
		return
	}
	a.cancelled = true
	c.post(nil, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, a.id), c.origin("", ""))
}

// dropConnection breaks the client's stream, or the response to a call of a legacy client. The client may resume this
// response.
func (c *client) dropConnection() {
	if c.w.clientRand.IntN(2) == 0 {
		c.dropStream()
		return
	}
	a := c.randomPending()
	if a == nil || c.modern {
		return
	}
	x, ok := a.reader.(*pipeclient.Exchange)
	if !ok {
		return
	}
	if a.lastEventID == "" || c.w.clientRand.IntN(2) == 0 {
		c.w.count("a broken response that was not resumed")
		a.abandoned = true
		c.dropReader(x)
		return
	}
	c.reconnect(a)
}

// reconnect breaks the response of a request, and resumes it.
func (c *client) reconnect(a *clientRequest) {
	c.w.count("a broken response that was resumed")
	c.dropReader(a.reader)
	c.w.scheduler.After(c.latency(), func() {
		if c.state != "ready" {
			a.abandoned = true
			return
		}
		o := c.origin("", "")
		o.LastEvent = a.lastEventID
		st := c.open(o)
		a.reader, a.abandoned = st, true // it may be too late to resume
		c.startReading(st, a)
	})
}

func (c *client) dropStream() {
	switch {
	case c.stream != nil:
		c.w.count("a broken stream")
		c.dropReader(c.stream)
	case c.listening != nil && c.listening.reader != nil:
		c.w.count("a broken listen stream")
		c.listening.abandoned = true
		c.dropReader(c.listening.reader)
	}
	c.resumeReads()
}

// stall stops reading for a while.
func (c *client) stall() {
	c.w.count("a client that does not read")
	c.stalled = true
	c.w.scheduler.After(c.w.userDelay()*4, func() { c.stalled = false })
}

// leave ends the session, with or without DELETE. The client opens a new session after a while.
func (c *client) leave() {
	c.w.count("a client that left")
	if c.w.clientRand.IntN(2) == 0 {
		c.end()
	}
	for _, a := range c.pending {
		a.abandoned = true
	}
	c.state = "closed"
	if c.stream != nil {
		c.dropReader(c.stream)
		c.stream = nil
	}
	c.resumeReads()
	c.w.scheduler.After(c.w.userDelay(), func() {
		if c.state == "closed" {
			c.initialize()
		}
	})
}
