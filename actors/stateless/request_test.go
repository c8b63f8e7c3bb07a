package stateless

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// The headers of a retry must match its arguments, as in any request (MCP 2026-07-28, streamable-http, server validation).
func TestRetryHeadersAreChecked(t *testing.T) {
	d := newStatelessScript(t, 1)
	source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer()}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"ask","inputSchema":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}}`)}
	naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "prefix", PageSize: 10}
	d.step(message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, naming)})
	visit := func(id int, header, state string) message.StatelessRequest {
		v := d.asking(id, `{"elicitation":{}}`, ``, state, `{}`)
		x := v.Exchange
		x.Frame, x.Params = actortest.Request(t, strings.Replace(string(x.Frame.Raw), `"name":"one_ask"`, `"name":"one_ask","arguments":{"a":1}`, 1))
		x.Origin.Header = http.Header{"Mcp-Param-A": {header}}
		return v
	}
	d.step(visit(1, "1", ""))
	d.step(message.ServerRequest{Seq: d.first(), Key: 1, Frame: d.frame(oneForm)})
	for _, timer := range d.timers {
		d.step(timer)
	}
	for header, want := range map[string]string{"2": string(protocol.HeaderMismatch), "": string(protocol.HeaderMismatch), "1": "result", "1.0": "result"} {
		if got := lastWords(step(d.s, d.now, visit(2, header, d.states[0]), nil)); got != want {
			t.Errorf("header %q: %s, want %s", header, got, want)
		}
		d.now = d.now.Add(time.Millisecond)
	}
}

// lastWords returns what the client is sent last: "acknowledged", "result", a fault's name, or "nothing".
func lastWords(out []kernel.Effect) (words string) {
	words = "nothing"
	for _, e := range out {
		switch a := e.Act.(type) {
		case reply.Notify:
			words = "acknowledged"
		case reply.Answer:
			words = "result"
		case reply.Refuse:
			words = string(a.Fault.Name)
		}
	}
	return words
}
