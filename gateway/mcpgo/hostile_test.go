package mcpgo_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"goblin-actor/gateway"
	"goblin-actor/gateway/mcpgo"
)

// hostile returns a server whose handlers misbehave. The tool "block" waits until the channel hold is closed. The tool "slow"
// waits until its call is canceled, and reports this on the channel canceled.
func hostile(hold <-chan struct{}, canceled chan<- struct{}) *server.MCPServer {
	s := server.NewMCPServer("one", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, false), server.WithPromptCapabilities(false))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
	s.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
	s.AddTool(mcp.NewTool("nil"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil })
	s.AddTool(mcp.NewTool("block"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-hold
		return mcp.NewToolResultText("late"), nil
	})
	s.AddTool(mcp.NewTool("slow"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		canceled <- struct{}{}
		return mcp.NewToolResultText("after cancel"), nil // an answer to a canceled call
	})
	s.AddTool(mcp.NewTool("bad"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: make(chan int)}, nil // cannot be encoded
	})
	s.AddResource(mcp.NewResource("x://panic", "panic"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { panic("boom") })
	s.AddNotificationHandler("notifications/initialized", func(context.Context, mcp.JSONRPCNotification) { panic("boom") })
	return s
}

// Whatever a handler does, only its own call fails, and the connection stays open.
func TestHostileHandlers(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			hold, canceled := make(chan struct{}), make(chan struct{}, 1)
			connections := 0
			serve := mcpgo.Server(hostile(hold, canceled))
			g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"one": {
				Settings: map[string]any{"protocol": era, "timeout": "200ms"},
				Connect:  func(ctx context.Context, c gateway.Conn) error { connections++; return serve(ctx, c) },
			}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx := within(t)
			for tool, want := range map[string]string{"one_panic": "panicked", "one_bad": "JSON", "one_block": "TIMEOUT", "one_nil": ""} {
				result, err := g.CallTool(ctx, tool, nil, nil)
				if e, ok := errors.AsType[*gateway.Error](err); want != "" && (!ok || !strings.Contains(e.Error(), want)) {
					t.Errorf("%s: got %v, %v, want %q", tool, result, err, want)
				}
				if result, err := g.CallTool(ctx, "one_echo", map[string]any{"text": "well"}, nil); err != nil || result.Text() != "well" {
					t.Errorf("after %s: %v, %v", tool, result, err)
				}
			}
			if _, err := g.ReadResource(ctx, "resource://one/x://panic"); err == nil || !strings.Contains(err.Error(), "panicked") {
				t.Errorf("resource: %v", err)
			}
			calling, cancel := context.WithCancel(ctx)
			time.AfterFunc(50*time.Millisecond, cancel)
			if _, err := g.CallTool(calling, "one_slow", nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("canceled: %v", err)
			}
			select {
			case <-canceled:
			case <-ctx.Done():
				t.Error("the handler's context did not end")
			}
			if err := g.Close(); err != nil { // although a handler is blocked
				t.Error(err)
			}
			close(hold)
			if connections != 1 {
				t.Errorf("%d connections", connections)
			}
		})
	}
}

// The end of the gateway and the removal of a server leave no goroutine behind, even while handlers run and wait for
// the client's answers.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, era := range eras {
		canceled := make(chan struct{}, 1)
		s := hostile(nil, canceled)
		s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}}})
			return nil, err
		})
		g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{"one": {Connect: mcpgo.Server(s), Settings: map[string]any{"protocol": era}}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := within(t)
		c, _ := dial(t, g, era)
		asked := make(chan struct{})
		q := &gateway.Questions{Elicit: func(ctx context.Context, _ gateway.Elicitation) (gateway.Answer, error) {
			close(asked)
			<-ctx.Done()
			return gateway.Answer{}, ctx.Err()
		}}
		if era == "legacy" { // the other era has no such requests
			go func() { _, _ = g.CallTool(ctx, "one_wait", nil, &gateway.CallOptions{Questions: q}) }()
			<-asked
		}
		go func() { _, _ = g.CallTool(ctx, "one_slow", nil, nil) }()
		for running := false; !running; time.Sleep(time.Millisecond) {
			stacks := make([]byte, 1<<20)
			running = strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "mcpgo_test.hostile.func4")
		}
		if err := g.RemoveServer(ctx, "one"); err != nil {
			t.Error(err)
		}
		<-canceled
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 300 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}
