package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/upstream"
)

// server is one entry of mcpServers as the far side sees it: what it offers, and its connections.
type server struct {
	Traits
	w        *world
	name     string
	modern   bool
	dual     bool // each connection speaks the era it is asked in
	http     bool
	replicas int
	honest   bool
	silent   bool // modern: its lists change without a word

	tools   []string       // that are there now
	uris    []string       // resources, always there
	quiet   string         // another one, which only scenes subscribe to
	changed map[string]int // by URI: place in the book of its last change
	down    bool           // no connection can be made
	hangs   bool           // it answers nothing
	conns   []*conn        // that are not dead
	made    int
}

// conn is one connection as the server sees it.
type conn struct {
	s        *server
	link     *link
	number   int
	modern   bool // what it speaks
	dead     bool
	lost     bool // HTTP: the server has forgotten the session
	ready    bool // initialized, or modern
	listens  bool // HTTP, legacy: the GET stream is open
	subs     map[string]bool
	streams  map[string]*listenStream // modern: subscriptions/listen by request id
	running  map[string]*running      // by request id
	asked    map[string]*running      // questions without an answer, by our id
	lastAsk  int
	level    string          // what it shall log
	roots    string          // what it was told of them last
	trouble  bool            // it has lost its calls by itself
	cut      map[uint64]bool // HTTP: responses that broke
	progress int

	opened  time.Time
	greeted bool    // legacy: the gateway has begun its handshake
	token   string  // the header that it was opened with
	carried bool    // a request of a client has come
	tenant  string  // whose that was, where connections are not for everybody
	client  *client // likewise
}

// listenStream is one subscriptions/listen of a modern server.
type listenStream struct {
	ticket uint64
	id     string
	uris   []string
	tools  bool
}

// request is what a server reads of a frame.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		URI       string `json:"uri"`
		Arguments struct {
			Nonce int
			Do    string // what the tool is to do; "" = anything
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

func (s *server) connect(l *link) *conn {
	s.made++
	c := &conn{opened: time.Now(), s: s, link: l, number: s.made, modern: s.modern, subs: map[string]bool{}, streams: map[string]*listenStream{}, running: map[string]*running{}, asked: map[string]*running{}, cut: map[uint64]bool{}}
	s.conns = append(s.conns, c)
	s.w.marks[c.String()] = c
	return c
}

// living are the connections that still are.
func (s *server) living() []*conn {
	s.conns = slices.DeleteFunc(s.conns, func(c *conn) bool { return c.dead })
	return s.conns
}

// take reads one frame of the gateway.
func (c *conn) take(o upstream.Outgoing) {
	c.s.w.trace("%s ⇐ %s", c, o.Frame)
	var r request
	if err := json.Unmarshal(o.Frame, &r); err != nil {
		c.s.w.broken("the gateway sent a server what it cannot read: %v: %s", err, o.Frame)
		return
	}
	switch {
	case r.Method == "" && r.ID != nil:
		c.told(string(r.ID), &r)
	case r.ID == nil:
		c.noted(&r)
	default:
		c.comes(&r)
		c.request(o.Ticket, &r)
	}
}

// request answers in the era of the connection. A server of both looks at each request: while the gateway finds out, it may have
// asked in both, and goes on in that of the first answer.
func (c *conn) request(ticket uint64, r *request) {
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

// say sends a frame after a while, on the response of a ticket or beside it.
func (c *conn) say(ticket uint64, after time.Duration, last bool, format string, args ...any) {
	raw := fmt.Sprintf(format, args...)
	c.s.w.fate.After(after, func() {
		if c.dead {
			return
		}
		f := mustFrame(raw)
		if !c.link.http {
			c.link.tell(pipeLane, upstream.Received{Frame: f})
			return
		}
		if ticket == 0 {
			c.link.tell(pipeLane, upstream.Received{Frame: f})
			return
		}
		c.link.mu.Lock()
		open := c.link.open[ticket]
		c.link.mu.Unlock()
		if !open {
			return
		}
		if last {
			c.link.forget(ticket)
		}
		c.link.tell(ticket, upstream.Received{Ticket: ticket, Frame: f, Last: last, Status: 200})
	})
}

func (c *conn) result(ticket uint64, id json.RawMessage, result string) {
	c.say(ticket, c.s.think(), true, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (c *conn) fail(ticket uint64, id json.RawMessage, code int, text string) {
	c.say(ticket, c.s.think(), true, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// answerLegacy answers a request of the versions with sessions.
func (c *conn) answerLegacy(ticket uint64, r *request) {
	w := c.s.w
	switch r.Method {
	case "initialize":
		c.greeted = true
		if c.s.fault(10) {
			w.count("a server that hangs in its handshake")
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
			call := &running{c: c, ticket: ticket, id: string(r.ID), completes: true}
			c.running[call.id] = call
			call.question(`"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`)
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
		if s.Again && name == repeatable {
			hint = `,"annotations":{"readOnlyHint":true}`
		}
		items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, hint))
	}
	return strings.Join(items, ",")
}

func (s *server) resourceList() string {
	var items []string
	for _, uri := range append(slices.Clone(s.uris), s.quiet) {
		items = append(items, fmt.Sprintf(`{"uri":%q,"name":"r"}`, uri))
	}
	return strings.Join(items, ",")
}

// told is the answer to a question.
func (c *conn) told(id string, reply *request) {
	r := c.asked[id]
	if r == nil {
		c.s.w.broken("%s was told an answer to %s, which it has not asked, or was told already", c, id)
		return
	}
	delete(c.asked, id)
	if strings.Contains(string(reply.Result), `"roots"`) {
		c.roots = string(reply.Result)
	}
	if strings.Contains(string(reply.Error), "the call was cancelled before its client answered") || string(reply.Result) == `{"action":"cancel"}` {
		r.left = time.Now()
	}
	if r.asks--; r.asks == 0 {
		r.answer(c.s.think())
	}
}

// noted is a notification of the gateway.
func (c *conn) noted(r *request) {
	switch r.Method {
	case "notifications/initialized":
		c.ready = true
	case "notifications/cancelled":
		c.cancelled(string(r.Params.RequestID))
	}
}

func (c *conn) cancelled(id string) {
	delete(c.streams, id)
	if call := c.running[id]; call != nil {
		c.s.w.count("a cancel that reached its server")
		if c.link.http && c.s.w.fate.sloth == 0 && time.Since(call.left) < 600*time.Millisecond { // a process does not say whose question it was
			c.s.w.broken("%s was told that a question has no answer, and that its call %d is cancelled: one of them is enough", c, call.nonce)
		}
		call.gone = true
		delete(c.running, id)
		c.s.w.book.cancelledAt(call)
		if c.s.fault(200) {
			call.answerAnyway(c.s.think())
		}
	}
}

// hungUp: the gateway closed the response of a ticket.
func (c *conn) hungUp(ticket uint64) {
	for id, st := range c.streams {
		if st.ticket == ticket {
			delete(c.streams, id)
		}
	}
	for _, id := range sortedKeys(c.running) {
		if call := c.running[id]; call.ticket == ticket && c.modern {
			c.cancelled(id)
		}
	}
}

// die ends the process, or has the HTTP server forget the session.
func (c *conn) die() {
	if c.dead {
		return
	}
	c.trouble = true
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
	clear(c.running)
	clear(c.asked)
	for _, ticket := range tickets {
		c.link.over(ticket, upstream.ErrNoAnswer)
	}
	if c.listens {
		c.listens = false
		c.link.tell(pipeLane, upstream.ListenFailed{Err: upstream.ErrNoAnswer})
		c.s.w.fate.After(time.Second, c.link.get)
	}
}

// change adds or takes away a tool and says so on every connection.
func (s *server) change() {
	s.w.count("a catalog that changed")
	if i := slices.Index(s.tools, "extra"); i >= 0 {
		s.tools = slices.Delete(slices.Clone(s.tools), i, i+1)
	} else {
		s.tools = append(slices.Clone(s.tools), "extra")
	}
	s.w.trace("%s now has %v", s.name, s.tools)
	for _, c := range s.living() {
		c.announce("tools/list_changed", "", func(st *listenStream) bool { return st.tools })
	}
}

// update changes a resource, or a part of it, and says so to who has subscribed to it.
func (s *server) update(uri, part string) {
	s.changed[uri] = s.w.book.moment()
	s.w.trace("%s: %s has changed", s.name, uri)
	for _, c := range s.living() {
		if c.subs[uri] || c.modern {
			c.announce("resources/updated", `"uri":"`+uri+part+`"`, func(st *listenStream) bool { return slices.Contains(st.uris, uri) })
		}
	}
}

// announce sends a notification to a connection.
func (c *conn) announce(method, params string, wanted func(*listenStream) bool) {
	if c.modern {
		for _, id := range sortedKeys(c.streams) {
			if st := c.streams[id]; wanted(st) {
				more := ""
				if params != "" {
					more = "," + params
				}
				c.say(st.ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/%s","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}}`, method, id, more)
			}
		}
		return
	}
	if c.ready && (!c.link.http || c.listens) {
		c.say(0, 0, false, `{"jsonrpc":"2.0","method":"notifications/%s","params":{%s}}`, method, params)
	}
}
