package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/gateway"
)

// tiny is a minimal server. Calls of its only tool, "do", return the result of the function do.
func tiny(do func(ctx context.Context) string) func(context.Context, gateway.Conn) error {
	return func(ctx context.Context, c gateway.Conn) error {
		for {
			raw, err := c.Read(ctx)
			if err != nil {
				return nil
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(raw, &m) != nil || m.ID == nil {
				continue
			}
			go func() {
				result := "{}"
				switch m.Method {
				case "initialize":
					result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}`
				case "tools/list":
					result = `{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`
				case "tools/call":
					result = `{"content":[{"type":"text","text":"` + do(ctx) + `"}]}`
				}
				_ = c.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`))
			}()
		}
	}
}

func done(context.Context) string { return "done" }

// quick holds settings for a server of the legacy era that is reconnected after at most 20 ms.
var quick = map[string]any{"protocol": "legacy", "reconnect": map[string]any{"min": "10ms", "max": "20ms"}}

// A server in this process is reconnected after its function has returned, panicked or called runtime.Goexit. Another
// server is not affected.
func TestConnectAgain(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("boom") },
		"return": func() {},
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			first := make(chan struct{})
			connect := func(ctx context.Context, c gateway.Conn) error {
				if connections.Add(1) == 1 {
					ctx, cancel := context.WithCancel(ctx)
					go func() { <-first; cancel() }()
					_ = tiny(done)(ctx, c)
					end()
					return nil
				}
				return tiny(done)(ctx, c)
			}
			ctx, g := within(t), start(t, gateway.Config{Servers: map[string]gateway.Server{
				"one": {Connect: connect, Settings: quick}, "two": {Connect: tiny(done), Settings: quick},
			}})
			call := func(tool string) error {
				result, err := g.CallTool(ctx, tool, nil, nil)
				if err == nil && result.Text() != "done" {
					t.Errorf("%s: got %q", tool, result.Text())
				}
				return err
			}
			for _, tool := range []string{"one_do", "two_do"} {
				if err := call(tool); err != nil {
					t.Fatal(err)
				}
			}
			close(first)
			for call("one_do") != nil || connections.Load() < 2 {
				if err := call("two_do"); err != nil {
					t.Fatal(err)
				}
				if ctx.Err() != nil {
					t.Fatal("the server is not connected again")
				}
			}
		})
	}
}

// If a server cannot be connected, the reason is reported: the error of Connect, or its panic. The stack of a panic is
// logged.
func TestConnectFails(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&locked{w: &logged}, nil))
	ctx, g := within(t), start(t, gateway.Config{Log: log})
	for want, connect := range map[string]func(context.Context, gateway.Conn) error{
		"no more tea": func(context.Context, gateway.Conn) error { return errors.New("no more tea") },
		"panicked":    func(context.Context, gateway.Conn) error { panic("boom") },
	} {
		err := g.AddServer(ctx, "one", gateway.Server{Connect: connect})
		if e, ok := errors.AsType[*gateway.Error](err); !ok || e.Code != "SERVER_UNAVAILABLE" || !strings.Contains(e.Message, want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := g.RemoveServer(ctx, "one"); err != nil {
			t.Error(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if text := logged.String(); !strings.Contains(text, "connect_test.go") {
		t.Errorf("the stack is not logged:\n%s", text)
	}
}

// locked serializes writes.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// If a server is removed and then added again with a different function, calls reach the new function.
func TestConnectIsReplaced(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, g := within(t), start(t, gateway.Config{})
	for _, word := range []string{"first", "second", "third"} {
		if err := g.AddServer(ctx, "one", gateway.Server{Connect: tiny(func(context.Context) string { return word }), Settings: quick}); err != nil {
			t.Fatal(err)
		}
		if result, err := g.CallTool(ctx, "one_do", nil, nil); err != nil || result.Text() != word {
			t.Errorf("call after function %q was added: %v, %v", word, result, err)
		}
		if err := g.RemoveServer(ctx, "one"); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	settle(t, before)
}

// settle waits up to 2 s until at most as many goroutines run as before, and fails the test otherwise.
func settle(t *testing.T, before int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// If a function ignores the end of its context, Close waits for it for about two seconds and then returns an error that
// names its server.
func TestConnectDoesNotReturn(t *testing.T) {
	hold := make(chan struct{})
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{
		"stuck": {Connect: func(ctx context.Context, c gateway.Conn) error { _ = tiny(done)(ctx, c); <-hold; return nil }, Settings: quick},
	}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), `"stuck"`) {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("Close took %v", took)
	}
	close(hold)
}

// A call that blocks forever times out. Other calls of the same server are not affected.
func TestConnectBlocks(t *testing.T) {
	var calls atomic.Int32
	hold := make(chan struct{})
	do := func(context.Context) string {
		if calls.Add(1) == 1 {
			<-hold
		}
		return "done"
	}
	ctx, g := within(t), start(t, gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: tiny(do), Settings: map[string]any{"protocol": "legacy", "timeout": "300ms"}},
	}})
	blocked := make(chan error, 1)
	go func() { _, err := g.CallTool(ctx, "one_do", nil, nil); blocked <- err }()
	for calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 10 {
		if result, err := g.CallTool(ctx, "one_do", nil, nil); err != nil || result.Text() != "done" {
			t.Errorf("call while another one is blocked: %v, %v", result, err)
		}
	}
	if err := <-blocked; codeOf(err) != "TIMEOUT" {
		t.Errorf("the blocked call: got %v, want TIMEOUT", err)
	}
	close(hold) // the late response belongs to no running call
	if result, err := g.CallTool(ctx, "one_do", nil, nil); err != nil || result.Text() != "done" {
		t.Errorf("after the late response: %v, %v", result, err)
	}
}
