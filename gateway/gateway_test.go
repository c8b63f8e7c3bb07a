package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"goblin-actor/gateway"
)

// start starts a gateway with the named demo servers in addition to those of c. It is closed at the end of the test.
func start(t *testing.T, c gateway.Config, demos ...string) *gateway.Gateway {
	t.Helper()
	if c.Servers == nil {
		c.Servers = map[string]gateway.Server{}
	}
	for _, name := range demos {
		c.Servers[name] = demoServer(name)
	}
	g, err := gateway.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestBadConfigs(t *testing.T) {
	for name, c := range map[string]gateway.Config{
		"no such file":                  {File: "nowhere.yaml"},
		"both":                          {File: "nowhere.yaml", YAML: []byte("{}")},
		"unknown key":                   {YAML: []byte("mcpServer: {}")},
		"duplicate server":              {YAML: []byte("mcpServers: {a: {command: x}}"), Servers: map[string]gateway.Server{"a": {Command: "y"}}},
		"reserved name":                 {Servers: map[string]gateway.Server{"goblin": {Command: "y"}}},
		"unknown setting":               {Servers: map[string]gateway.Server{"a": {Command: "y", Settings: map[string]any{"timout": 1}}}},
		"setting not encodable as JSON": {Servers: map[string]gateway.Server{"a": {Command: "y", Settings: map[string]any{"timeout": func() {}}}}},
		"command and a URL":             {Servers: map[string]gateway.Server{"a": {Command: "y", URL: "http://127.0.0.1:1/mcp"}}},
		"URL and function":              {Servers: map[string]gateway.Server{"a": {URL: "http://127.0.0.1:1/mcp", Connect: tiny(done)}}},
		"args of a function":            {Servers: map[string]gateway.Server{"a": {Args: []string{"x"}, Connect: tiny(done)}}},
	} {
		if g, err := gateway.Start(t.Context(), c); err == nil {
			t.Errorf("%s: Start succeeded", name)
			_ = g.Close()
		}
	}
}

// Close leaves nothing running. Calls that it interrupts return ErrStopped or SHUTTING_DOWN, and later calls return
// ErrStopped.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"shapes": demoServer("shapes"), "clock": demoServer("clock")}})
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 6 {
		hanging := make(chan struct{})
		o := &gateway.CallOptions{Progress: func(gateway.Progress) { close(hanging) }}
		if i%2 == 0 {
			o.Questions = &gateway.Questions{}
		}
		calls.Go(func() {
			if _, err := g.CallTool(t.Context(), "shapes_hang", nil, o); !errors.Is(err, gateway.ErrStopped) && codeOf(err) != "SHUTTING_DOWN" {
				t.Errorf("interrupted call: %v", err)
			}
		})
		<-hanging
	}
	if _, err := g.Subscribe(t.Context(), "resource://clock/clock://now"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	calls.Wait()
	for name, err := range map[string]error{
		"call": func() error { _, err := g.CallTool(t.Context(), "shapes_fail", nil, nil); return err }(),
		"own": func() error {
			_, err := g.CallTool(t.Context(), "shapes_fail", nil, &gateway.CallOptions{Questions: &gateway.Questions{}})
			return err
		}(),
		"list":   func() error { _, err := g.ListTools(t.Context(), true); return err }(),
		"add":    g.AddServer(t.Context(), "x", demoServer("notes")),
		"remove": g.RemoveServer(t.Context(), "shapes"),
	} {
		if !errors.Is(err, gateway.ErrStopped) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	for end := time.Now().Add(soon); runtime.NumGoroutine() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// If the context of Start ends, Start leaves nothing running.
func TestStartIsGivenUp(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{"slow": {Command: "sleep", Args: []string{"60"}}}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start with an expired context: got %v, want DeadlineExceeded", err)
	}
	for end := time.Now().Add(soon); runtime.NumGoroutine() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

// Running calls may finish during Stop.
func TestStopDrains(t *testing.T) {
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"clock": demoServer("clock")}})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	var call sync.WaitGroup
	call.Go(func() {
		begun := sync.OnceFunc(func() { close(running) })
		result, err := g.CallTool(t.Context(), "clock_wait", map[string]any{"seconds": 1}, &gateway.CallOptions{Progress: func(gateway.Progress) { begun() }})
		if err != nil || result.IsError {
			t.Errorf("the call that runs during Stop: %+v, %v", result, err)
		}
	})
	<-running
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	call.Wait()
}
