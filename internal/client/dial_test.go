package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/demo"
	"goblin-actor/protocol"
)

// listen serves s over HTTP at addr until stop is called. stop waits until the server has ended.
func listen(t *testing.T, s *demo.Server, addr string) (url string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- demo.ServeHTTP(ctx, s, l, slog.New(slog.DiscardHandler)) }()
	return l.Addr().String(), func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ServeHTTP = %v", err)
		}
	}
}

func TestDial(t *testing.T) {
	addr, stop := listen(t, demo.NewClock(), "127.0.0.1:0")
	defer stop()
	heard := make(chan string, 100)
	c, err := Dial(t.Context(), addr, Options{OnNotification: func(method string, _ json.RawMessage) { heard <- method }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if items, err := c.List(t.Context(), protocol.Tools); err != nil || len(items) != 2 {
		t.Errorf("List = %v, %v", items, err)
	}
	var steps []float64
	if _, err := c.Call(t.Context(), "wait", []byte(`{"seconds":0.2,"steps":2}`), func(p Progress) { steps = append(steps, p.Done) }); err != nil || len(steps) == 0 || steps[len(steps)-1] != 2 {
		t.Errorf("Call = %v, progress %v", err, steps)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Call(short, "wait", []byte(`{"seconds":60}`), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("cancelled call = %v after %v", err, time.Since(began))
	}
	c.Listen()
	if err := c.Subscribe(t.Context(), "clock://now"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-time.After(20 * time.Second):
		t.Error("no update arrived")
	}
}

// No server, a server without MCP, and a restarted gateway cause three different errors.
func TestDialFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	l.Close()
	if _, err := Dial(t.Context(), free, Options{}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("no server: %v", err)
	}
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	if _, err := Dial(t.Context(), web.URL, Options{}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "not an MCP endpoint") {
		t.Errorf("a web server: %v", err)
	}
	for code, want := range map[int]string{
		http.StatusMethodNotAllowed: " is not an MCP endpoint: HTTP 405 (Method Not Allowed)",
		http.StatusBadGateway:       " answered HTTP 502 (Bad Gateway); no session was opened",
	} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		if _, err := Dial(t.Context(), proxy.URL+"/mcp", Options{}); !errors.Is(err, ErrUnreachable) || err.Error() != proxy.URL+"/mcp"+want {
			t.Errorf("a proxy that answers %d: %v", code, err)
		}
		proxy.Close()
	}

	// Error responses without an id, which the gateway sends for a request that it did not parse.
	status := http.StatusNotFound
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no","data":{"code":"INVALID_REQUEST"}}}`)
	}))
	defer gateway.Close()
	if _, err := Dial(t.Context(), gateway.URL, Options{}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "not an MCP endpoint") {
		t.Errorf("a path the gateway does not have: %v", err)
	}
	status = http.StatusForbidden
	if _, err := Dial(t.Context(), gateway.URL, Options{}); err == nil || err.Error() != "no (-32600)" {
		t.Errorf("a Host that is not allowed: %v", err)
	}

	addr, stop := listen(t, demo.NewClock(), "127.0.0.1:0")
	c, err := Dial(t.Context(), addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop()
	_, stop = listen(t, demo.NewClock(), addr)
	defer stop()
	_, err = c.List(t.Context(), protocol.Tools)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the request was written to the old connection before its end was noticed
		_, err = c.List(t.Context(), protocol.Tools)
	}
	if !errors.Is(err, ErrSessionLost) {
		t.Errorf("restarted: %v", err)
	}
}
