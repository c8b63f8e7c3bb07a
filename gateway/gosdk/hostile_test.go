package gosdk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/gosdk"
)

// If a handler ignores the end of its context, only its own call fails. The handler keeps its connection from ending,
// which Close reports.
func TestHandlerBlocks(t *testing.T) {
	hold := make(chan struct{})
	s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1"}, nil)
	for name, wait := range map[string]chan struct{}{"block": hold, "echo": nil} {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			if wait != nil {
				<-wait
			}
			return said(in.Text), nil, nil
		})
	}
	g, err := gateway.Start(t.Context(), gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: gosdk.Server(s), Settings: map[string]any{"timeout": "100ms"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	_, err = g.CallTool(ctx, "one_block", nil, nil)
	if e, ok := errors.AsType[*gateway.Error](err); !ok || e.Code != "TIMEOUT" {
		t.Errorf("block: %v", err)
	}
	if result, err := g.CallTool(ctx, "one_echo", text{"well"}, nil); err != nil || result.Text() != "well" {
		t.Errorf("echo: %v, %v", result, err)
	}
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("close: %v", err)
	}
	close(hold)
}
