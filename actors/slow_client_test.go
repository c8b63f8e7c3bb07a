package actors

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// An HTTP+SSE client that sends requests but does not read the responses harms only itself. Requests above its limits are refused,
// responses that do not fit are replaced by errors, each accepted request gets one response, and the gateway stays within its buffer
// budget.
func TestClientDoesNotReadResponses(t *testing.T) {
	const requests, budget = 400, 16 << 20
	big := strings.Repeat("z", 200<<10)
	server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"`+big+`"}]}`)))
	}}
	w := startHTTP(t, map[string]*actortest.Server{"one": server, "two": {Tools: []string{"ask"}}}, func(c *config.Config) {
		c.Limits.MaxMessageBytes, c.Limits.MaxBufferedBytes = 1<<20, budget
	})
	stream, _ := w.listen("/sse")
	endpoint := stream.data()
	if !strings.Contains(endpoint, "/messages") {
		t.Fatalf("the stream began with %s", endpoint)
	}
	w.do("POST", endpoint, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"slow","version":"1"}}}`)
	w.do("POST", endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	stream.data()

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	statuses := map[int]int{}
	accepted := map[string]bool{}
	posted := 0
	for deadline := time.Now().Add(2 * time.Minute); posted < requests || statuses[http.StatusServiceUnavailable] == 0 && time.Now().Before(deadline); posted++ {
		id := posted // requests are refused only once the first responses wait
		r := w.do("POST", endpoint, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`, id))
		if statuses[r.status]++; r.status == http.StatusAccepted {
			accepted[fmt.Sprint(id)] = true
		}
	}
	other := w.open("/mcp")
	if r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two_ask","arguments":{}}}`, "Mcp-Session-Id", other); !strings.Contains(r.body, "echo") {
		t.Errorf("another client: %d %s", r.status, r.body)
	}
	grown := int64(budget + 1)
	for deadline := time.Now().Add(2 * time.Minute); grown > budget && time.Now().Before(deadline); { // calls are still being answered
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	if grown > budget {
		t.Errorf("%d MiB are held for a client that does not read, with a budget of %d MiB", grown>>20, budget>>20)
	}
	if statuses[http.StatusServiceUnavailable] == 0 || statuses[http.StatusAccepted]+statuses[http.StatusServiceUnavailable] != posted {
		t.Errorf("statuses %v", statuses)
	}
	for len(accepted) > 0 { // now the client reads: each accepted request has one response
		data := stream.data()
		var answer struct{ ID json.Number }
		if err := json.Unmarshal([]byte(data), &answer); err != nil || !accepted[answer.ID.String()] {
			t.Fatalf("%d responses are missing; got %.200s (%v)", len(accepted), data, err)
		}
		delete(accepted, answer.ID.String())
	}
}
