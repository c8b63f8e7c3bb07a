package stateless

import (
	"bytes"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/status"
)

// The status names the client of a call without a session.
func TestStatelessReportNamesClients(t *testing.T) {
	for _, c := range []struct{ info, want string }{
		{``, "unnamed client"},
		{`"io.modelcontextprotocol/clientInfo":{"name":"editor","version":"1.98"},`, "editor 1.98"},
		{`"io.modelcontextprotocol/clientInfo":{"name":"a\u001b[2Jb"},`, "a[2Jb"},
		{`"io.modelcontextprotocol/clientInfo":{"name":7},`, "unnamed client"},
	} {
		d := newStatelessScript(t, 1)
		visit := d.request("")
		raw := bytes.Replace(visit.Exchange.Frame.Raw, []byte(`"_meta":{`), []byte(`"_meta":{`+c.info), 1)
		visit.Exchange.Frame, visit.Exchange.Params = actortest.Request(t, string(raw))
		d.step(visit)
		for range 2 {
			var calls []status.Call
			d.step(message.Inspect{Reply: func(part any) { calls = part.(message.SessionReport).Calls }})
			if len(calls) != 1 || calls[0].Client != c.want {
				t.Errorf("%s: calls = %+v, want one of %q", c.info, calls, c.want)
			}
		}
	}
}
