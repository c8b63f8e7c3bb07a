package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// answerModern answers a request of 2026-07-28.
func (c *conn) answerModern(ticket uint64, r *frameToServer) {
	w := c.s.w
	c.ready = true
	complete := func(members string) {
		c.result(ticket, r.ID, `{"resultType":"complete"`+members+`}`)
	}
	switch r.Method {
	case "server/discover":
		complete(`,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":` + fmt.Sprint(!c.s.silent) + `},"prompts":{},"completions":{},"resources":{"subscribe":true,"listChanged":true}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"simulated","version":"2"}},"ttlMs":60000,"cacheScope":"private"`)
	case "initialize":
		c.fail(ticket, r.ID, -32601, "Method not found")
	case "tools/list":
		complete(`,"tools":[` + c.s.toolList() + `],"ttlMs":` + map[bool]string{true: "0", false: "60000"}[c.s.silent] + `,"cacheScope":"private"`)
	case "resources/list":
		complete(`,"resources":[` + c.s.resourceList() + `],"ttlMs":60000,"cacheScope":"private"`)
	case "resources/templates/list":
		complete(`,"resourceTemplates":[],"ttlMs":60000,"cacheScope":"private"`)
	case "prompts/list":
		complete(`,"prompts":[{"name":"p"}],"ttlMs":60000,"cacheScope":"private"`)
	case "completion/complete":
		complete(`,` + completion[1:len(completion)-1])
	case "resources/read":
		complete(`,"contents":[{"uri":"` + r.Params.URI + `","text":"x"}]`)
	case "subscriptions/listen":
		c.listen(ticket, r)
	case "tools/call":
		if r.Params.RequestState != "" || r.Params.Responses != nil {
			w.count("a call sent again with answers")
			w.history.sentAgain[r.Params.Arguments.Nonce] = &serverCall{c: c, ticket: ticket}
			complete(fmt.Sprintf(`,"content":[{"type":"text","text":"done %d"}]`, r.Params.Arguments.Nonce))
			return
		}
		if do := r.Params.Arguments.Do; do == "ask" || do == "" && !c.s.isCalm() && w.serverRand.IntN(100) < 12 {
			w.count("a question of a modern server")
			w.history.recordCall(w, &serverCall{c: c, ticket: ticket, id: string(r.ID), nonce: r.Params.Arguments.Nonce, tool: r.Params.Name, began: w.history.moment()})
			c.result(ticket, r.ID, fmt.Sprintf(`{"resultType":"input_required","requestState":"s%d","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"name?","requestedSchema":{"type":"object","properties":{}}}}}}`, r.Params.Arguments.Nonce))
			return
		}
		c.call(ticket, r)
	default:
		c.fail(ticket, r.ID, -32601, "Method not found")
	}
}

// listen acknowledges a listen stream, and may end it later.
func (c *conn) listen(ticket uint64, r *frameToServer) {
	w := c.s.w
	if c.s.fault(50) {
		w.count("a refused listen stream")
		c.fail(ticket, r.ID, -32000, "not now")
		return
	}
	st := &listenStream{ticket: ticket, id: string(r.ID), tools: r.Params.Notifications.Tools && !c.s.silent}
	var known []string
	for _, uri := range r.Params.Notifications.URIs {
		if slices.Contains(c.s.uris, uri) || uri == c.s.quietURI {
			st.uris = append(st.uris, uri)
			known = append(known, `"`+uri+`"`)
		}
	}
	c.streams[st.id] = st
	var acknowledged []string
	if st.tools {
		acknowledged = append(acknowledged, `"toolsListChanged":true`)
	}
	if len(known) > 0 {
		acknowledged = append(acknowledged, `"resourceSubscriptions":[`+strings.Join(known, ",")+`]`)
	}
	c.send(ticket, 0, false, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{%s}}}`, r.ID, strings.Join(acknowledged, ","))
	if c.s.fault(150) {
		w.scheduler.After(time.Duration(w.serverRand.IntN(60))*time.Second, func() {
			if !c.dead && c.streams[st.id] == st {
				w.count("a listen stream ended by its server")
				delete(c.streams, st.id)
				c.send(ticket, 0, true, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, r.ID)
			}
		})
	}
}
