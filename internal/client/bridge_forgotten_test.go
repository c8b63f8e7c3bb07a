package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A restarted gateway rejects requests of an unknown session with an error that has the request's id. The bridge opens
// a new session and repeats the request, so the client, which cannot open a session itself, only sees the result.
func TestBridgeRepeatsRequestOfUnknownSession(t *testing.T) {
	var opened, refused atomic.Int32
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(body, &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", opened.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"g","version":"1"}}}`, m.ID)
		case r.Header.Get("Mcp-Session-Id") == "session-1":
			refused.Add(1)
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Session not found: it has ended or never existed; send initialize to begin a new one","data":{"code":"INVALID_REQUEST"}}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"answer":%q}}`, m.ID, m.Method)
		}
	}))
	defer gateway.Close()
	b := overBridge(t, t.Context(), gateway.URL+"/mcp")
	b.hello()
	b.send(`"id":2,"method":"tools/list"`)
	if line := b.await(`"id":2`); !strings.Contains(line, `"result":{"answer":"tools/list"}`) {
		t.Errorf("the client got %s", line)
	}
	if opened.Load() != 2 || refused.Load() == 0 {
		t.Errorf("%d sessions, %d requests refused", opened.Load(), refused.Load())
	}
	b.end()
}
