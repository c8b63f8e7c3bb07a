package gosdk_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/gosdk"
)

// A server and a client of the SDK in one program, with the gateway between them.
func Example() {
	s := mcp.NewServer(&mcp.Implementation{Name: "one", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return said(in.Text), nil, nil
	})
	ctx := context.Background()
	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: gosdk.Server(s)},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	c := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := c.Connect(ctx, gosdk.Transport(g), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "one_echo", Arguments: text{"hello"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(textOf(result))
	// Output: hello
}
