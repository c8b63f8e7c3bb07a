package backend

import (
	"fmt"
	"testing"
	"testing/synctest"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
)

// modern starts a backend with a modern server and waits until it is ready.
func modern(t *testing.T, server *actortest.Modern) *bench {
	t.Helper()
	o := Options{Server: auto(), Open: server.Open, Transport: "stdio", Catalog: true}
	o.Server.Roots = []string{"file:///srv"}
	if server.HTTP {
		o.Transport = "http"
	}
	b := startOn(t, o)
	synctest.Wait()
	if p := b.phases(); len(p) == 0 || p[len(p)-1] != message.Ready {
		t.Fatalf("phases %v, want ready", p)
	}
	b.holder.Got()
	return b
}

// call sends a request to the backend as the holder's call with the number seq.
func (b *bench) call(seq uint64, r *message.Request) {
	b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: seq}, Request: r})
	synctest.Wait()
}

// outcomes returns a summary of the calls that have ended at the holder, and the questions that it got.
func (b *bench) outcomes() (ends []string, asks []message.ServerRequest) {
	for _, msg := range b.holder.Got() {
		switch m := msg.(type) {
		case message.Done:
			ends = append(ends, fmt.Sprintf("%d %s", m.Seq, append(m.Frame.ResultBytes(), m.Frame.ErrorBytes()...)))
		case message.Failed:
			ends = append(ends, fmt.Sprintf("%d %s %s", m.Seq, m.Fault.Name, m.Fault.Message))
		case message.ServerRequest:
			asks = append(asks, m)
		}
	}
	return ends, asks
}

// modernRequest returns a modern client's request, as a stateless session would dispatch it.
func modernRequest(t *testing.T, members string) *message.Request {
	t.Helper()
	r := request(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"fake_add","arguments":{"a":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"x":1},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"3"},"vendor/k":2}`+members+`}}`)
	raw := r.Frame.Raw
	r.Modern, r.Item = true, "add"
	r.Caller = &message.Caller{Capabilities: r.Params.MetaCapabilities.Of(raw), ClientInfo: r.Params.MetaClientInfo.Of(raw), Can: message.CanForm}
	return r
}

// legacyRequest returns the request of a legacy client with these capabilities.
func legacyRequest(t *testing.T, can message.CapabilitySet) *message.Request {
	r := request(t, callFrame)
	r.Item = "add"
	r.Caller = &message.Caller{Can: can, ClientInfo: []byte(`{"name":"old","version":"1"}`)}
	return r
}
