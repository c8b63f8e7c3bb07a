package gosdk_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/gosdk"
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
func start(t *testing.T, s *mcp.Server, era string) *gateway.Gateway {
	t.Helper()
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: gosdk.Server(s), Settings: map[string]any{"protocol": era, "reconnect": map[string]any{"min": "10ms"}}},
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

type text struct {
	Text string `json:"text,omitempty"`
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func TestCallTool(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
				return said(in.Text), nil, nil
			})
			g, ctx := start(t, s, era), within(t)
			result, err := g.CallTool(ctx, "one_echo", map[string]any{"text": "hello <&>"}, nil)
			if err != nil || result.Text() != "hello <&>" {
				t.Errorf("one_echo: got %v, %v, want its argument", result, err)
			}
		})
	}
}
