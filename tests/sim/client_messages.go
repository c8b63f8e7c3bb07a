package sim

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"goblin-actor/tests/sim/pipeclient"
)

// frameToClient is the part of a message that clients decode.
type frameToClient struct {
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

// handleResponse handles the response to a request.
func (c *client) handleResponse(a *clientRequest, e *frameToClient, seen pipeclient.Seen) {
	id, err := strconv.Atoi(string(e.ID))
	if err != nil {
		if a == nil && e.Error == nil {
			c.w.violated("%s received a response without an id: %s", c.name, seen.Frame)
		}
		if a == nil || seen.Status < 400 {
			return
		}
		id = a.id // over HTTP, the response identifies the request
	}
	if a != nil && a.id != id {
		c.w.violated("%s: the response to request %d came on the response of %s", c.name, id, a)
		return
	}
	of := a // the request may belong to a session that has ended
	if of == nil {
		of = c.pending[id]
	}
	if of == nil || of.answers > 0 {
		c.w.violated("%s received a response to request %d, which has none pending: %s", c.name, id, seen.Frame)
		return
	}
	if c.pending[id] == of {
		delete(c.pending, id)
	}
	of.answers++
	of.ended, of.answered = c.w.history.moment(), time.Now()
	c.w.history.answered++
	if of.abandoned {
		c.w.count("a response after the client abandoned the call")
	}
	if e.Error != nil {
		of.failed, of.code, of.retryable = true, e.Error.Data.Code, e.Error.Data.Retryable
		of.message, of.number = e.Error.Message, e.Error.Code
		c.w.count("answered with " + of.code)
		c.w.history.checkLost(c.w, of)
	}
	c.checkVisible(of, e)
	if of.guarantee != nil {
		c.w.checkGuarantee(of)
	}
	c.applyResponse(of, e)
}

// applyResponse updates the client after a response.
func (c *client) applyResponse(a *clientRequest, e *frameToClient) {
	switch {
	case a.method == "resources/subscribe" && e.Error != nil && c.w.p.Wide && a.session == c.session:
		// The session ends an earlier subscription that was made with another value of the forwarded header. So the client
		// may have no subscription after this failure.
		delete(c.subs, a.uri)
	case a.method == "initialize" && e.Error != nil:
		c.state = ""
	case a.method == "initialize":
		c.state = "ready"
		o := c.origin("", "")
		c.post(nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, o)
	case e.Error != nil && strings.Contains(e.Error.Message, "Session not found"):
		c.checkEnded(a)
		if c.state == "ready" && a.session == c.session {
			c.w.count("an ended session")
			c.initialize()
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
		c.checkAccepted(a.uri)
		c.subs[a.uri] = &subscription{since: c.w.history.moment(), concurrent: c.concurrent[a.uri]}
	case e.Result != nil && e.Result.ResultType == "input_required" && a.method == "completion/complete":
		c.w.violated("%s was answered with input requests, which a completion does not allow", a)
	case e.Result != nil && e.Result.ResultType == "input_required":
		a.inputRequired = true
		if a.nonce > 0 {
			c.sendAnswers(a, e)
		}
	}
}

// sendAnswers answers the input requests of a modern call by sending the call again.
func (c *client) sendAnswers(a *clientRequest, e *frameToClient) {
	if c.ignoresQuestions {
		return
	}
	if c.w.fault(250) {
		c.w.count("a modern client that does not answer")
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
		c.w.count("a modern client that answers twice")
		times = 2
	}
	for range times {
		c.w.scheduler.After(c.w.userDelay(), func() {
			if c.state != "gone" {
				now := c.headerValue
				c.headerValue = a.headerValue // the answers come with the principal and header of the call
				c.call(tool, a.nonce, rest).method = "tools/call again"
				c.headerValue = now
			}
		})
	}
}

// handleQuestion handles a server request to a legacy client.
func (c *client) handleQuestion(a *clientRequest, e *frameToClient) {
	c.w.count("a question that reached its client")
	if a != nil {
		a.wasAsked = true
	}
	if !c.answers {
		c.w.violated("%s received %s, but declared no capabilities", c.name, e.Method)
	}
	if e.Method == "elicitation/create" {
		if c.noElicitation {
			c.w.violated("%s received %s without having declared it", c.name, e.Method)
		}
		if c.old {
			c.w.count("a server request for a capability that the client declared although its version lacks it")
		}
	}
	c.questions[string(e.ID)] = a
	if c.ignoresQuestions {
		return
	}
	how := c.w.clientRand.IntN(10)
	if c.w.calm {
		how = 0
	}
	reply := func(format string, args ...any) {
		after := c.w.userDelay()
		if c.prompt {
			after = c.latency()
		}
		c.w.scheduler.After(after, func() {
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
		c.w.count("a question without an answer")
	}
}

// handleNotification handles a notification.
func (c *client) handleNotification(e *frameToClient) {
	switch e.Method {
	case "notifications/tools/list_changed":
		c.listChangedAt = c.w.history.moment()
	case "notifications/resources/updated":
		uri, part := strings.CutSuffix(e.Params.URI, "/part")
		if i := strings.Index(uri, "x://"); part && i > 0 { // updates of parts have public URIs, which have a prefix before the server's URI
			uri = uri[i:]
		}
		if !c.seesChangeOf(uri) {
			c.w.violated("%s is in project %s, but received an update of %s", c.name, c.project.Name, e.Params.URI)
		}
		if s := c.subs[uri]; s != nil {
			s.updatedAt = c.w.history.moment()
		} else if !c.w.everSubscribed[c.name+" "+uri] {
			c.w.violated("%s received an update of %s without ever subscribing to it", c.name, e.Params.URI)
		}
	case "notifications/cancelled":
		c.withdrawn[string(e.Params.RequestID)] = true
	case "notifications/message":
		c.logLines[string(e.Params.Data)] = true
	case "notifications/subscriptions/acknowledged":
		c.ackedAt = c.w.history.moment()
		for _, uri := range e.Params.Notifications.URIs {
			c.checkAccepted(uri)
			c.subs[uri] = &subscription{since: c.ackedAt}
		}
	}
}
