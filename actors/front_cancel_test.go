package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// When a client cancels its call over streamable HTTP, the call's response ends with an error, whether or not it is a
// stream: the Python client waits forever if the response ends without one. On the shared stream of HTTP+SSE, as on stdio,
// nothing is sent.
func TestCanceledCallOverHTTPEnds(t *testing.T) {
	called := make(chan struct{}, 10)
	server := &actortest.Server{Tools: []string{"wait"}, Handle: func(p *pipe.Peer, f protocol.Frame, _ []byte) {
		var params protocol.Params
		if params.Scan(&f) == nil && params.ProgressToken.Present() {
			token := string(params.ProgressToken.Of(f.Raw))
			_ = p.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`))
		}
		called <- struct{}{}
	}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"one_wait","arguments":{}` + meta + `}}`
	}
	const want = `{"jsonrpc":"2.0","id":"c","error":{"code":-31009,"message":"Request cancelled","data":{"code":"CANCELLED","server":"one","retryable":false}}}`

	id := w.open("/mcp")
	plain := make(chan reply, 1)
	go func() { plain <- w.do("POST", "/mcp", call(""), "Mcp-Session-Id", id) }()
	<-called
	w.do("POST", "/mcp", cancelled, "Mcp-Session-Id", id)
	if r := <-plain; r.status != 200 || r.body != want {
		t.Errorf("without a stream: %d %s", r.status, r.body)
	}

	stream, _ := w.post("/mcp", call(`,"_meta":{"progressToken":"t"}`), "Mcp-Session-Id", id)
	if first := stream.data(); !strings.Contains(first, "progress") {
		t.Fatalf("the stream begins with %s", first)
	}
	w.do("POST", "/mcp", cancelled, "Mcp-Session-Id", id)
	if last := stream.data(); last != want {
		t.Errorf("the stream ends with %q", last)
	}
	if more := stream.data(); more != "" {
		t.Errorf("the stream continues after the error: %s", more)
	}

	shared, _ := w.listen("/sse")
	to := shared.next().data
	w.do("POST", to, initializeFrame)
	shared.data()
	for len(called) > 0 {
		<-called
	}
	w.do("POST", to, call(""))
	<-called
	w.do("POST", to, cancelled)
	w.do("POST", to, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if next := shared.data(); next != `{"jsonrpc":"2.0","id":"p","result":{}}` {
		t.Errorf("over HTTP+SSE the canceled call was answered: %s", next)
	}
}
