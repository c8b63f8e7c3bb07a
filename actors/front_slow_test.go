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

// A client of HTTP+SSE that asks on and on and does not read what it is answered costs itself: what it may not ask is
// refused, what finds no room is answered with an error, each request once, and the gateway keeps within its budget.
func TestAnswersNobodyReads(t *testing.T) {
	const asked, budget = 400, 16 << 20
	big := strings.Repeat("z", 200<<10)
	server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"`+big+`"}]}`)))
	}}
	w := serveWeb(t, map[string]*actortest.Server{"one": server, "two": {Tools: []string{"ask"}}}, func(c *config.Config) {
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
	taken := map[string]bool{}
	posted := 0
	for late := time.Now().Add(2 * time.Minute); posted < asked || statuses[http.StatusServiceUnavailable] == 0 && time.Now().Before(late); posted++ {
		id := posted // it asks faster than it is answered: until the first answers wait, nothing is refused
		r := w.do("POST", endpoint, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one_ask","arguments":{}}}`, id))
		if statuses[r.status]++; r.status == http.StatusAccepted {
			taken[fmt.Sprint(id)] = true
		}
	}
	other := w.open("/mcp")
	if r := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two_ask","arguments":{}}}`, "Mcp-Session-Id", other); !strings.Contains(r.body, "echo") {
		t.Errorf("another client: %d %s", r.status, r.body)
	}
	grown := int64(budget + 1)
	for late := time.Now().Add(2 * time.Minute); grown > budget && time.Now().Before(late); { // calls are answered yet
		runtime.GC()
		runtime.ReadMemStats(&after)
		grown = int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	if grown > budget {
		t.Errorf("%d MiB are kept for a client that does not read, with a budget of %d", grown>>20, budget>>20)
	}
	if statuses[http.StatusServiceUnavailable] == 0 || statuses[http.StatusAccepted]+statuses[http.StatusServiceUnavailable] != posted {
		t.Errorf("statuses %v", statuses)
	}
	for len(taken) > 0 { // now it reads: each request that was taken has one answer
		data := stream.data()
		var answer struct{ ID json.Number }
		if err := json.Unmarshal([]byte(data), &answer); err != nil || !taken[answer.ID.String()] {
			t.Fatalf("%d answers are missing; came %.200s (%v)", len(taken), data, err)
		}
		delete(taken, answer.ID.String())
	}
}
