package mcpgo_test

import (
	"context"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"goblin-actor/gateway"
	"goblin-actor/gateway/mcpgo"
)

// soon bounds the waits of the tests.
const soon = time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// eras are the values of the setting "protocol" with which servers are tested.
var eras = []string{"legacy", "modern"}

// start starts a gateway with one server, named one, that speaks the era.
func start(t *testing.T, s *server.MCPServer, era string) *gateway.Gateway {
	t.Helper()
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: mcpgo.Server(s), Settings: map[string]any{"protocol": era, "reconnect": map[string]any{"min": "10ms"}}},
	}})
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

// echo is a tool that returns its argument text.
func echo(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(r.GetString("text", "")), nil
}

func TestCallTool(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := server.NewMCPServer("one", "1", server.WithToolCapabilities(true))
			s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), echo)
			g, ctx := start(t, s, era), within(t)
			result, err := g.CallTool(ctx, "one_echo", map[string]any{"text": "hello <&>"}, nil)
			if err != nil || result.Text() != "hello <&>" {
				t.Errorf("one_echo: got %v, %v, want its argument", result, err)
			}
		})
	}
}
