package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// wire is where a client reads: the response of a POST, or a stream it opened.
type wire interface {
	Next() (downstream.Seen, bool)
	Leave()
	Over() bool
}

// client is one client of the gateway, of either era, over HTTP.
type client struct {
	w       *world
	name    string
	modern  bool
	answers bool // it answers questions
	honest  bool
	old     bool            // it speaks 2025-03-26
	mute    bool            // it answers none for a while
	project *config.Project // it is in; nil = none
	carrier string          // how it says so
	token   string          // its value of the header that is forwarded
	verbose bool            // modern: it wants to hear of each call
	pipe    *downstream.PipeClient

	session string
	state   string // "", opening, ready, gone
	lastID  int
	open    map[int]*ask // not over yet
	reading map[wire]bool
	stalled bool          // reads nothing for a while
	waiting []func()      // looks that found nothing
	left    map[wire]bool // wires the client has left, until what was on its way is lost

	asked     map[string]*ask // questions that came, by id, with the call on whose response; nil = on the stream
	withdrawn map[string]bool // questions that were taken back
	lines     map[string]bool // log lines that came
	woken     int             // so often there was something to see

	stream      *downstream.PipeStream // legacy: the GET stream
	streamEvent string
	listening   *ask // modern: subscriptions/listen
	acked       int  // moment the listen stream was acknowledged
	subs        map[string]*subscribed
	listed      *ask            // the last request for the list
	unsure      map[string]bool // by URI: there were several at once
	list        []string
	cached      []string // of these, what the gateway only remembers
	changed     int      // moment it was last told that the list changed
}

// subscribed is what a client knows of a resource it wants to hear of.
type subscribed struct {
	since  int  // moment of the yes
	told   int  // moment of the last update
	unsure bool // another subscribe or unsubscribe of it was under way
}

// envelope is what a client reads of a frame.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		URI           string          `json:"uri"`
		Data          json.RawMessage `json:"data"`
		RequestID     json.RawMessage `json:"requestId"`
		Notifications struct {
			URIs []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	} `json:"params"`
	Result *struct {
		ResultType   string                     `json:"resultType"`
		RequestState string                     `json:"requestState"`
		Requests     map[string]json.RawMessage `json:"inputRequests"`
		Tools        []struct {
			Name string
			Meta map[string]any `json:"_meta"`
		} `json:"tools"`
		Content []struct{ URI, Text string } `json:"content"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code      string `json:"code"`
			Retryable bool   `json:"retryable"`
			Server    string `json:"server"`
		} `json:"data"`
	} `json:"error"`
}

const capabilities = `{"elicitation":{},"sampling":{},"roots":{}}`

func (c *client) capabilities() string {
	if c.answers {
		return capabilities
	}
	return "{}"
}

// origin is where a message of the client comes from.
func (c *client) origin(method, name string) downstream.Origin {
	o := downstream.Origin{Path: "/mcp", Remote: fmt.Sprintf("127.0.0.1:%d", 40000+c.w.number(c)), SessionID: c.session}
	c.admitted(&o)
	if c.modern {
		o.Version, o.Header = "2026-07-28", map[string][]string{"Mcp-Method": {method}}
		if name != "" {
			o.Header.Set("Mcp-Name", name)
		}
	} else if c.session != "" && !c.old {
		o.Version = "2025-11-25"
	}
	return o
}

// send posts a request; members are those of params, each with a comma before it.
func (c *client) send(method, name, members string) *ask {
	c.lastID++
	a := &ask{client: c, id: c.lastID, method: method, session: c.session, token: c.token, began: c.w.book.moment(), sent: time.Now()}
	c.w.book.asks = append(c.w.book.asks, a)
	meta := ""
	if c.modern {
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.capabilities() +
			`,"io.modelcontextprotocol/clientInfo":{"name":"` + c.name + `","version":"1"}`
		if level := c.level(); level != "" {
			meta += `,"io.modelcontextprotocol/logLevel":"` + level + `"`
		}
	}
	meta = c.wideMeta(meta)
	if method == "tools/call" {
		meta = strings.TrimPrefix(meta+fmt.Sprintf(`,"progressToken":%d`, a.id), ",")
	}
	params := strings.TrimPrefix(members, ",")
	if meta != "" {
		params = strings.TrimSuffix(`"_meta":{`+meta+`},`+params, ",")
	}
	raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, a.id, method, params)
	c.open[a.id] = a
	c.post(a, raw, c.origin(method, name))
	return a
}

// post gives a message to the gateway; a is nil for what has no answer.
func (c *client) post(a *ask, raw string, origin downstream.Origin) {
	c.w.trace("%s → %s", c.name, raw)
	x, refused := c.pipe.Post([]byte(raw), origin)
	if refused != nil {
		c.see(a, *refused)
		return
	}
	if a != nil {
		a.wire = x
	}
	c.watch(x, a)
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

// answered takes the answer to a request.
func (c *client) answered(a *ask, e *envelope, seen downstream.Seen) {
	id, err := strconv.Atoi(string(e.ID))
	if err != nil {
		if a == nil && e.Error == nil {
			c.w.broken("%s was told an answer to nothing: %s", c.name, seen.Frame)
		}
		if a == nil || seen.Status < 400 {
			return
		}
		id = a.id // HTTP says which one
	}
	if a != nil && a.id != id {
		c.w.broken("%s: the answer to %d came on the response of %s", c.name, id, a)
		return
	}
	of := a // also one of a session that has ended
	if of == nil {
		of = c.open[id]
	}
	if of == nil || of.answers > 0 {
		c.w.broken("%s was told an answer to %d, which it does not wait for: %s", c.name, id, seen.Frame)
		return
	}
	if c.open[id] == of {
		delete(c.open, id)
	}
	of.answers++
	of.ended = c.w.book.moment()
	c.w.book.answered++
	if of.given {
		c.w.count("an answer after the client gave up")
	}
	if e.Error != nil {
		of.failed, of.fault, of.again = true, e.Error.Data.Code, e.Error.Data.Retryable
		of.text = e.Error.Message
		c.w.count("answered with " + of.fault)
		c.w.book.lost(c.w, of)
	}
	c.mayKnow(of, e)
	if of.promise != nil {
		c.w.kept(of)
	}
	c.settled(of, e)
}

// settled is what the client does with an answer.
func (c *client) settled(a *ask, e *envelope) {
	switch {
	case a.method == "resources/subscribe" && e.Error != nil && c.w.p.Wide && a.session == c.session:
		delete(c.subs, a.uri) // it may have come with another header, and then the newest counts
	case a.method == "initialize" && e.Error != nil:
		c.state = ""
	case a.method == "initialize":
		c.state = "ready"
		o := c.origin("", "")
		c.post(nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, o)
	case e.Error != nil && strings.Contains(e.Error.Message, "Session not found"):
		if c.state == "ready" && a.session == c.session {
			c.w.count("a session that had ended")
			c.begin("")
		}
	case e.Result != nil && len(e.Result.Content) > 0 && e.Result.Content[0].URI != "":
		a.link = e.Result.Content[0].URI
	case a.method == "tools/list" && e.Result != nil:
		c.list, c.cached = nil, nil
		for _, tool := range e.Result.Tools {
			c.list = append(c.list, tool.Name)
			if tool.Meta["goblin-actor/state"] == "cached" {
				c.cached = append(c.cached, tool.Name)
			}
		}
		sort.Strings(c.list)
	case a.method == "resources/subscribe" && e.Result != nil && a.session == c.session:
		c.mayRely(a.uri)
		c.subs[a.uri] = &subscribed{since: c.w.book.moment(), unsure: c.unsure[a.uri]}
	case e.Result != nil && e.Result.ResultType == "input_required" && a.method == "completion/complete":
		c.w.broken("%s was answered with questions, which no answer to it can hold", a)
	case e.Result != nil && e.Result.ResultType == "input_required":
		a.asks = true
		if a.nonce > 0 {
			c.comeBack(a, e)
		}
	}
}

// comeBack answers what a modern call wants to know, by a call that carries the answers.
func (c *client) comeBack(a *ask, e *envelope) {
	if c.mute {
		return
	}
	if c.w.fault(250) {
		c.w.count("a modern client that does not come back")
		return
	}
	var members []string
	for _, key := range sortedKeys(e.Result.Requests) {
		members = append(members, fmt.Sprintf(`%q:{"action":"accept","content":{}}`, key))
	}
	state := e.Result.RequestState
	rest := fmt.Sprintf(`,"inputResponses":{%s}`, strings.Join(members, ","))
	if state != "" {
		rest += fmt.Sprintf(`,"requestState":%q`, state)
	}
	tool := c.w.toolOf[a.nonce]
	times := 1
	if c.w.fault(100) {
		c.w.count("a modern client that comes back twice")
		times = 2
	}
	for range times {
		c.w.fate.After(c.w.patience(), func() {
			if c.state != "gone" {
				now := c.token
				c.token = a.token // who asked is who answers
				c.call(tool, a.nonce, rest).method = "tools/call again"
				c.token = now
			}
		})
	}
}

// question is a question of a legacy server, put to a legacy client.
func (c *client) question(a *ask, e *envelope) {
	c.w.count("a question that reached its client")
	if a != nil {
		a.wasAsked = true
	}
	if !c.answers {
		c.w.broken("%s was asked %s, and said that it cannot answer", c.name, e.Method)
	}
	if c.old && e.Method == "elicitation/create" {
		c.w.broken("%s was asked %s, which its version does not have", c.name, e.Method)
	}
	c.asked[string(e.ID)] = a
	if c.mute {
		return
	}
	how := c.w.crng.IntN(10)
	if c.w.calm {
		how = 0
	}
	reply := func(format string, args ...any) {
		c.w.fate.After(c.w.patience(), func() {
			if c.state == "ready" {
				c.post(nil, fmt.Sprintf(format, args...), c.origin("", ""))
			}
		})
	}
	switch how {
	case 0, 1, 2, 3, 4, 5:
		reply(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, e.ID)
	case 6:
		c.w.count("a question answered twice")
		reply(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, e.ID)
		reply(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, e.ID)
	case 7:
		reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"no"}}`, e.ID)
	default:
		c.w.count("a question that is never answered")
	}
}

// note is a notification.
func (c *client) note(e *envelope) {
	switch e.Method {
	case "notifications/tools/list_changed":
		c.changed = c.w.book.moment()
	case "notifications/resources/updated":
		uri, part := strings.CutSuffix(e.Params.URI, "/part")
		if i := strings.Index(uri, "x://"); part && i > 0 { // a part is not listed: its URI says whose it is
			uri = uri[i:]
		}
		if !c.mayHear(uri) {
			c.w.broken("%s is in project %s, and was told of %s", c.name, c.project.Name, e.Params.URI)
		}
		if s := c.subs[uri]; s != nil {
			s.told = c.w.book.moment()
		} else if !c.w.wanted[c.name+" "+uri] {
			c.w.broken("%s was told of %s, which it has never subscribed to", c.name, e.Params.URI)
		}
	case "notifications/cancelled":
		c.withdrawn[string(e.Params.RequestID)] = true
	case "notifications/message":
		c.lines[string(e.Params.Data)] = true
	case "notifications/subscriptions/acknowledged":
		c.acked = c.w.book.moment()
		for _, uri := range e.Params.Notifications.URIs {
			c.mayRely(uri)
			c.subs[uri] = &subscribed{since: c.acked}
		}
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

func (c *client) ready() bool { return c.modern && c.state == "" || c.state == "ready" }

func sortedKeys[K int | uint64 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
