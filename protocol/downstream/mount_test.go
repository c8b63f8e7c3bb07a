package downstream

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"goblin-actor/protocol"
)

// A slow answer becomes an event stream with comments. A stream carries what is pushed, until Close of the Mount ends it.
func TestMountStreams(t *testing.T) {
	m := NewMount(handlerFunc{
		post: func(x *Exchange) {
			time.AfterFunc(100*time.Millisecond, func() {
				x.Answer(protocol.Message{Frame: protocol.AppendResult(nil, x.Frame.IDBytes(), []byte("{}"))})
			})
		},
		open: func(s *EventStream) {
			s.Accept()
			s.Push(protocol.Message{Frame: []byte(`{"jsonrpc":"2.0","method":"pushed"}`)}, WeightState, "k")
		},
		delete: func(x *Exchange) { x.Accept() },
	}, Options{SSEAfter: 20 * time.Millisecond, KeepAlive: 20 * time.Millisecond}, nil)
	server := httptest.NewServer(m)
	defer server.Close()
	do := func(method, body string) (*http.Response, func() string) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response, func() string {
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
	}
	response, text := do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"x"}`)
	if got := text(); response.Header.Get("Content-Type") != typeEvents || strings.Count(got, streamComment) < 2 || !strings.Contains(got, `"id":1`) {
		t.Errorf("slow answer: %v %q", response.Header, got)
	}
	if response, text := do(http.MethodDelete, ""); response.StatusCode != http.StatusNoContent || text() != "" {
		t.Errorf("delete: %d", response.StatusCode)
	}
	if response, text := do(http.MethodPut, ""); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != allVerbs {
		t.Errorf("put: %d %s", response.StatusCode, text())
	}
	response, text = do(http.MethodGet, "")
	time.AfterFunc(50*time.Millisecond, m.Close)
	if got := text(); response.StatusCode != http.StatusOK || !strings.Contains(got, "pushed") {
		t.Errorf("stream: %d %q", response.StatusCode, got)
	}
	if response, text := do(http.MethodGet, ""); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d %s", response.StatusCode, text())
	}
}
