package sim

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"goblin-actor/protocol/downstream"
)

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
	if state != "" {
		c.sealed = &sealedState{state, a.nonce}
	}
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
	if e.Method == "elicitation/create" {
		if c.formless {
			c.w.broken("%s was asked %s, and has not declared it", c.name, e.Method)
		}
		if c.old {
			c.w.count("a client asked what its version does not have, and it declares")
		}
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
