package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/upstream"
)

// server simulates an entry of mcpServers, or a group: the items that it offers, and its connections.
type server struct {
	Traits
	w        *world
	name     string
	modern   bool
	dual     bool // each connection speaks the era of its requests
	http     bool
	replicas int
	honest   bool
	silent   bool // modern: its lists change without a notification

	tools     []string       // current
	uris      []string       // of its resources; they do not change
	quietURI  string         // another resource, to which only scenes subscribe
	changedAt map[string]int // by URI: moment of the last change
	down      bool           // refuses connections
	hangs     bool           // answers nothing
	conns     []*conn        // see liveConns
	connCount int
}

// conn is a connection, seen from the server.
type conn struct {
	s               *server
	node            *node // to which it belongs
	link            *link
	number          int
	modern          bool // its era
	dead            bool
	lost            bool // HTTP: the server has forgotten the session
	ready           bool // initialized, if legacy
	listens         bool // HTTP, legacy: the GET stream is open
	subs            map[string]bool
	streams         map[string]*listenStream // modern: subscriptions/listen by request id
	calls           map[string]*serverCall   // by request id
	questions       map[string]*serverCall   // unanswered server requests by id
	lastQuestion    int
	level           string          // from logging/setLevel
	roots           string          // last answer to roots/list
	lostCalls       bool            // the server side lost its calls
	brokenResponses map[uint64]bool // HTTP: responses that broke
	progress        int

	opened       time.Time
	initializing bool    // legacy: the handshake has begun
	headerValue  string  // the forwarded header when it was opened
	used         bool    // it has carried a client's request
	tenant       string  // of that request; see tenantOf
	client       *client // of that request
}

// listenStream is a subscriptions/listen request at a modern server.
type listenStream struct {
	ticket uint64
	id     string
	uris   []string
	tools  bool
}

// frameToServer is the part of a message that servers decode.
type frameToServer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		URI       string `json:"uri"`
		Arguments struct {
			Nonce int
			Do    string // the instruction for the tool; "" = random behavior
		} `json:"arguments"`
		Argument      struct{ Value string }     `json:"argument"`
		Level         string                     `json:"level"`
		Meta          map[string]json.RawMessage `json:"_meta"`
		RequestID     json.RawMessage            `json:"requestId"`
		RequestState  string                     `json:"requestState"`
		Responses     map[string]json.RawMessage `json:"inputResponses"`
		Notifications struct {
			Tools bool     `json:"toolsListChanged"`
			URIs  []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (c *conn) String() string { return fmt.Sprintf("%s#%d", c.s.name, c.number) }

func (s *server) connect(n *node, l *link) *conn {
	s.connCount++
	c := &conn{opened: time.Now(), s: s, node: n, link: l, number: s.connCount, modern: s.modern, subs: map[string]bool{}, streams: map[string]*listenStream{}, calls: map[string]*serverCall{}, questions: map[string]*serverCall{}, brokenResponses: map[uint64]bool{}}
	s.conns = append(s.conns, c)
	s.w.connByName[c.String()] = c
	return c
}

// liveConns removes the connections that have ended from conns, and returns the others.
func (s *server) liveConns() []*conn {
	s.conns = slices.DeleteFunc(s.conns, func(c *conn) bool { return c.dead })
	return s.conns
}

// connsOf returns the connections of a node that have not ended.
func (s *server) connsOf(n *node) (some []*conn) {
	for _, c := range s.liveConns() {
		if c.node == n {
			some = append(some, c)
		}
	}
	return some
}

// receive handles a message from the gateway.
func (c *conn) receive(o upstream.Outgoing) {
	c.s.w.trace("%s ⇐ %s", c, o.Frame)
	var r frameToServer
	if err := json.Unmarshal(o.Frame, &r); err != nil {
		c.s.w.violated("the gateway sent invalid JSON to a server: %v: %s", err, o.Frame)
		return
	}
	switch {
	case r.Method == "" && r.ID != nil:
		c.handleAnswer(string(r.ID), &r)
	case r.ID == nil:
		c.handleNotification(&r)
	default:
		c.checkRequest(&r)
		c.request(o.Ticket, &r)
	}
}

// request answers a request in the connection's era. A server of both eras decides for each request: during detection
// the gateway may send requests of both, and continues in the era of the first response.
func (c *conn) request(ticket uint64, r *frameToServer) {
	if c.s.hangs {
		return
	}
	if c.s.dual {
		_, c.modern = r.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	}
	if c.modern {
		c.answerModern(ticket, r)
		return
	}
	c.answerLegacy(ticket, r)
}

// send sends a message after a while: on the response of a ticket, or outside of all responses if ticket is 0.
func (c *conn) send(ticket uint64, after time.Duration, last bool, format string, args ...any) {
	raw := fmt.Sprintf(format, args...)
	c.s.w.scheduler.After(after, func() {
		if c.dead {
			return
		}
		f := mustFrame(raw)
		if !c.link.http {
			c.link.emit(pipeLane, upstream.Received{Frame: f})
			return
		}
		if ticket == 0 {
			c.link.emit(pipeLane, upstream.Received{Frame: f})
			return
		}
		c.link.mu.Lock()
		open := c.link.open[ticket]
		c.link.mu.Unlock()
		if !open {
			return
		}
		if last {
			c.link.closeExchange(ticket)
		}
		c.link.emit(ticket, upstream.Received{Ticket: ticket, Frame: f, Last: last, Status: 200})
	})
}

func (c *conn) result(ticket uint64, id json.RawMessage, result string) {
	c.send(ticket, c.s.workTime(), true, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (c *conn) fail(ticket uint64, id json.RawMessage, code int, text string) {
	c.send(ticket, c.s.workTime(), true, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// answerLegacy answers a request of a version with sessions.
func (c *conn) answerLegacy(ticket uint64, r *frameToServer) {
	w := c.s.w
	switch r.Method {
	case "initialize":
		c.initializing = true
		if c.s.fault(10) {
			w.count("a handshake without a response")
			return
		}
		c.lost = false
		c.result(ticket, r.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"simulated","version":"1"}}`)
	case "server/discover":
		c.fail(ticket, r.ID, -32601, "Method not found")
	case "logging/setLevel":
		c.level = r.Params.Level
		c.result(ticket, r.ID, `{}`)
	case "ping":
		c.result(ticket, r.ID, `{}`)
	case "tools/list":
		c.result(ticket, r.ID, `{"tools":[`+c.s.toolList()+`]}`)
	case "resources/list":
		c.result(ticket, r.ID, `{"resources":[`+c.s.resourceList()+`]}`)
	case "resources/templates/list":
		c.result(ticket, r.ID, `{"resourceTemplates":[]}`)
	case "prompts/list":
		c.result(ticket, r.ID, `{"prompts":[{"name":"p"}]}`)
	case "resources/subscribe":
		if c.s.fault(30) {
			w.count("a subscription refused by its server")
			c.fail(ticket, r.ID, -32000, "not now")
			return
		}
		c.subs[r.Params.URI] = true
		c.result(ticket, r.ID, `{}`)
	case "resources/unsubscribe":
		delete(c.subs, r.Params.URI)
		c.result(ticket, r.ID, `{}`)
	case "resources/read":
		c.result(ticket, r.ID, `{"contents":[{"uri":"`+r.Params.URI+`","text":"x"}]}`)
	case "completion/complete":
		if r.Params.Argument.Value == "ask" {
			call := &serverCall{c: c, ticket: ticket, id: string(r.ID), completes: true}
			c.calls[call.id] = call
			call.askOne(`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
			return
		}
		c.result(ticket, r.ID, completion)
	case "tools/call":
		c.call(ticket, r)
	default:
		c.fail(ticket, r.ID, -32601, "Method not found")
	}
}

func (s *server) toolList() string {
	var items []string
	for _, name := range s.tools {
		hint := ""
		if s.Retries && name == idempotentTool {
			hint = `,"annotations":{"readOnlyHint":true}`
		}
		items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, hint))
	}
	return strings.Join(items, ",")
}

func (s *server) resourceList() string {
	var items []string
	for _, uri := range append(slices.Clone(s.uris), s.quietURI) {
		items = append(items, fmt.Sprintf(`{"uri":%q,"name":"r"}`, uri))
	}
	return strings.Join(items, ",")
}

// handleAnswer handles the answer to a server request.
func (c *conn) handleAnswer(id string, reply *frameToServer) {
	r := c.questions[id]
	if r == nil {
		c.s.w.violated("%s received an answer to %s, which is not pending", c, id)
		return
	}
	delete(c.questions, id)
	if strings.Contains(string(reply.Result), `"roots"`) {
		c.roots = string(reply.Result)
	}
	if strings.Contains(string(reply.Error), "the call was canceled before its client answered") || string(reply.Result) == `{"action":"cancel"}` {
		r.refusedAt = time.Now()
	}
	if r.openQuestions--; r.openQuestions == 0 {
		r.complete(c.s.workTime())
	}
}

// handleNotification handles a notification.
func (c *conn) handleNotification(r *frameToServer) {
	switch r.Method {
	case "notifications/initialized":
		c.ready = true
	case "notifications/cancelled":
		c.cancelled(string(r.Params.RequestID))
	}
}

func (c *conn) cancelled(id string) {
	delete(c.streams, id)
	if call := c.calls[id]; call != nil {
		c.s.w.count("a cancellation that reached its server")
		if c.link.http && c.s.w.scheduler.delayed == 0 && time.Since(call.refusedAt) < 600*time.Millisecond { // a process cannot tell which call the server request belonged to
			c.s.w.violated("%s received both a refusal of its server request and a cancellation for call %d; one is enough", c, call.nonce)
		}
		call.done = true
		delete(c.calls, id)
		c.s.w.history.recordCancel(call)
		if c.s.fault(200) {
			call.completeAnyway(c.s.workTime())
		}
	}
}

// hungUp handles the closing of a response by the gateway.
func (c *conn) hungUp(ticket uint64) {
	for id, st := range c.streams {
		if st.ticket == ticket {
			delete(c.streams, id)
		}
	}
	for _, id := range sortedKeys(c.calls) {
		if call := c.calls[id]; call.ticket == ticket && c.modern {
			c.cancelled(id)
		}
	}
}

// die ends the process, or makes the HTTP server forget the session, if there is one, and all requests.
func (c *conn) die() {
	if c.dead {
		return
	}
	c.lostCalls = true
	if !c.link.http {
		c.dead = true
		c.link.end(&upstream.ExitError{Code: 1})
		return
	}
	c.lost = !c.modern
	clear(c.subs)
	c.link.mu.Lock()
	tickets := sortedKeys(c.link.open)
	c.link.mu.Unlock()
	clear(c.streams)
	clear(c.calls)
	clear(c.questions)
	for _, ticket := range tickets {
		c.link.endResponse(ticket, upstream.ErrNoAnswer)
	}
	if c.listens {
		c.listens = false
		c.link.emit(pipeLane, upstream.ListenFailed{Err: upstream.ErrNoAnswer})
		c.s.w.scheduler.After(time.Second, c.link.openGET)
	}
}

// changeTools adds or removes a tool and announces the change on every connection. A silent server does not announce it.
func (s *server) changeTools() {
	s.w.count("a catalog that changed")
	if i := slices.Index(s.tools, "extra"); i >= 0 {
		s.tools = slices.Delete(slices.Clone(s.tools), i, i+1)
	} else {
		s.tools = append(slices.Clone(s.tools), "extra")
	}
	s.w.trace("%s now has %v", s.name, s.tools)
	for _, c := range s.liveConns() {
		c.announce("tools/list_changed", "", func(st *listenStream) bool { return st.tools })
	}
}

// update changes a resource, or a part of it, and notifies its subscribers.
func (s *server) update(uri, part string) {
	s.changedAt[uri] = s.w.history.moment()
	s.w.trace("%s: %s has changed", s.name, uri)
	for _, c := range s.liveConns() {
		if c.subs[uri] || c.modern {
			c.announce("resources/updated", `"uri":"`+uri+part+`"`, func(st *listenStream) bool { return slices.Contains(st.uris, uri) })
		}
	}
}

// announce sends a notification on a legacy connection, or on those listen streams of a modern connection that want it.
func (c *conn) announce(method, params string, wanted func(*listenStream) bool) {
	if c.modern {
		for _, id := range sortedKeys(c.streams) {
			if st := c.streams[id]; wanted(st) {
				more := ""
				if params != "" {
					more = "," + params
				}
				c.send(st.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/%s","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}}`, method, id, more)
			}
		}
		return
	}
	if c.ready && (!c.link.http || c.listens) {
		c.send(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/%s","params":{%s}}`, method, params)
	}
}
