package mcpgo_test

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/mcpgo"
)

// A server and a client of mcp-go in one program, with the gateway between them.
func Example() {
	ctx := context.Background()
	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
		"one": {Connect: mcpgo.Server(echoServer())},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()

	c := client.NewClient(mcpgo.Transport(g))
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		fmt.Println(err)
		return
	}
	result, err := c.CallTool(ctx, call("one_echo", map[string]any{"text": "hello"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(textOf(result))
	// Output: hello
}
