package actors

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

// largeServer answers tools/call with about 100 KiB of its argument's text: with a Content-Length, in chunks, or as an SSE event.
func largeServer(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var f protocol.Frame
	if r.Method != http.MethodPost || f.Parse(raw) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	answer := func(result string) string {
		return `{"result":` + result + `,"jsonrpc":"2.0","id":` + string(f.IDBytes()) + `}`
	}
	w.Header().Set("Content-Type", "application/json")
	switch f.Method {
	case protocol.MethodInitialize:
		_, _ = io.WriteString(w, answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}`))
	case protocol.MethodToolsList:
		_, _ = io.WriteString(w, answer(`{"tools":[{"name":"large","inputSchema":{"type":"object"}}]}`))
	case protocol.MethodToolsCall:
		var p protocol.Params
		_ = p.Scan(&f)
		text, _ := rawjson.Unquote(rawjson.Member(f.Raw, p.Arguments, "text").Of(f.Raw))
		text = answer(largeResult(text))
		switch len(text) % 3 {
		case 0:
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			text = "data: " + text + "\n\n"
		}
		_, _ = io.WriteString(w, text)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// largeResult repeats text up to about 100 KiB.
func largeResult(text string) string {
	return `{"content":[{"type":"text","text":"` + strings.Repeat(text+" ", 100<<10/len(text)) + `"}]}`
}

// The memory of large responses is reused, but no client ever reads another's response, even if clients disconnect in the
// middle of theirs or sessions end.
func TestLargeResponsesDoNotMix(t *testing.T) {
	protocol.PoisonFreed(true)
	defer protocol.PoisonFreed(false)
	server := httptest.NewServer(http.HandlerFunc(largeServer))
	defer server.Close()
	w := startHTTP(t, map[string]*actortest.Server{"one": {}}, nil, func(sink upstream.Sink) upstream.Link {
		return remote.OpenHTTP(remote.Options{URL: server.URL + "/mcp"}, sink)
	})
	var clients sync.WaitGroup
	for client := range 6 {
		clients.Go(func() {
			session := w.open("/mcp")
			for n := range 40 {
				text := fmt.Sprintf("%d-%d-%s", client, n, strings.Repeat("x", n))
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d/%d","method":"tools/call","params":{"name":"one_large","arguments":{"text":%q}}}`, client, n, text)
				if n%7 == 6 {
					w.leaveEarly(call, session)
					continue
				}
				got := w.do("POST", "/mcp", call, "Mcp-Session-Id", session, "Accept", "application/json")
				want := fmt.Sprintf(`{"result":%s,"jsonrpc":"2.0","id":"%d/%d"}`, largeResult(text), client, n)
				if got.status != 200 || got.body != want {
					t.Errorf("%s: %d, %d bytes: %.200q", text, got.status, len(got.body), got.body)
				}
			}
		})
	}
	clients.Wait()
}

// leaveEarly sends a call and closes the connection after the first bytes of the response.
func (w *httpHarness) leaveEarly(call, session string) {
	r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/mcp", strings.NewReader(call))
	if err != nil {
		w.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Error(err)
		return
	}
	_, _ = resp.Body.Read(make([]byte, 100))
	resp.Body.Close()
}
