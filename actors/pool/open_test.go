package pool

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// The type of a URL determines how it is opened. What auto detects is remembered for that replica only.
func TestOpenConfigured(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		switch r.Method + r.URL.Path {
		case "GET/sse":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: endpoint\ndata: /message\n\n"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "POST/message":
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	defer server.Close()
	// try opens a link, sends initialize, waits for the last request and closes the link.
	try := func(open func(upstream.Sink) upstream.Link, last string) []string {
		t.Helper()
		closed, written := make(chan struct{}), make(chan struct{}, 1)
		mu.Lock()
		asked = nil
		mu.Unlock()
		link := open(func(_ context.Context, e upstream.Event) error {
			switch e.(type) {
			case upstream.Ended, upstream.Written:
				select {
				case written <- struct{}{}:
				default:
				}
			case upstream.Closed:
				close(closed)
			}
			return nil
		})
		link.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		<-written
		for limit := time.Now().Add(2 * time.Minute); time.Now().Before(limit); <-time.After(time.Millisecond) {
			mu.Lock()
			done := slices.Contains(asked, last)
			mu.Unlock()
			if done {
				break
			}
		}
		link.Close(time.Second)
		<-closed
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
	p := &pool{}
	for _, test := range []struct {
		kind        string
		server      config.Server
		first, next []string // requests of the first and the second connection
	}{
		{"http", config.Server{Type: "http"}, []string{"POST /sse"}, []string{"POST /sse"}},
		{"sse", config.Server{Type: "sse"}, []string{"GET /sse", "POST /message"}, []string{"GET /sse", "POST /message"}},
		{"http", config.Server{Type: "auto"}, []string{"POST /sse", "GET /sse", "POST /message"}, []string{"GET /sse", "POST /message"}},
	} {
		test.server.URLs = []string{server.URL + "/sse"}
		for replica := range 2 {
			open, kind := p.openConfigured(test.server, replica, nil)
			if kind != test.kind {
				t.Errorf("type %s: kind %q, want %q", test.server.Type, kind, test.kind)
			}
			for _, want := range [][]string{test.first, test.next} {
				if got := try(open, want[len(want)-1]); !slices.Equal(got, want) {
					t.Errorf("type %s: requests %q, want %q", test.server.Type, got, want)
				}
			}
		}
	}
	if _, kind := p.openConfigured(config.Server{Command: "x", Type: "auto"}, 0, nil); kind != "stdio" {
		t.Errorf("command: kind %q", kind)
	}
}

// A process inherits a few variables, or all with inheritEnv, but never those through which systemd and the gateway
// communicate.
func TestSupervisionVariablesAreNotInherited(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/notify")
	t.Setenv("LISTEN_FDS", "1")
	t.Setenv("GOBLIN_TEST_OTHER", "kept")
	for inherit, want := range map[bool][]string{false: {}, true: {"GOBLIN_TEST_OTHER=kept"}} {
		var got []string
		for _, pair := range environment(config.Server{InheritEnv: inherit}) {
			if name, _, _ := strings.Cut(pair, "="); slices.Contains([]string{"NOTIFY_SOCKET", "LISTEN_FDS", "GOBLIN_TEST_OTHER"}, name) {
				got = append(got, pair)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("inheritEnv %v: inherited %q, want %q", inherit, got, want)
		}
	}
	if env := environment(config.Server{Env: map[string]string{"NOTIFY_SOCKET": "/other"}}); !slices.Contains(env, "NOTIFY_SOCKET=/other") {
		t.Error("a variable in the configuration is missing")
	}
}
