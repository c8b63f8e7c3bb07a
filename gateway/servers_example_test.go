package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	mcp "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/gateway"
	"goblin-actor/gateway/gosdk"
	"goblin-actor/gateway/mcpgo"
)

// installed returns a server of an npm package, if the interoperability tests have installed the package, or a demo server
// otherwise. A real program would use npx: gateway.Server{Command: "npx", Args: []string{"-y", name, "."}}.
func installed(name string, args ...string) gateway.Server {
	if script := filepath.Join("..", "tests", "interop", "node_modules", name, "dist", "index.js"); exists(script) {
		return gateway.Server{Command: "node", Args: append([]string{script}, args...)}
	}
	return demoServer("notes")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The program serves three servers at one HTTP endpoint: one of mcp-go, one of the official SDK and one from npm.
func ExampleGateway_Handler() {
	greeter := server.NewMCPServer("greeter", "1.0.0")
	greeter.AddTool(mcp.NewTool("hello", mcp.WithString("name")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("hello " + r.GetString("name", "you")), nil
	})
	type numbers struct{ A, B int }
	adder := sdk.NewServer(&sdk.Implementation{Name: "adder", Version: "1.0.0"}, nil)
	sdk.AddTool(adder, &sdk.Tool{Name: "add"}, func(_ context.Context, _ *sdk.CallToolRequest, n numbers) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(n.A + n.B)}}}, nil, nil
	})
	ctx := context.Background()
	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
		"greeter": {Connect: mcpgo.Server(greeter)},
		"adder":   {Connect: gosdk.Server(adder)},
		"files":   installed("@modelcontextprotocol/server-filesystem", "."),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", g.Handler())
	site := httptest.NewServer(mux) // a real program would call http.ListenAndServe("127.0.0.1:8080", mux)
	defer site.Close()

	client := sdk.NewClient(&sdk.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: site.URL + "/mcp"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	for _, call := range []*sdk.CallToolParams{
		{Name: "greeter_hello", Arguments: map[string]any{"name": "Ugg"}},
		{Name: "adder_add", Arguments: numbers{1, 2}},
	} {
		result, err := session.CallTool(ctx, call)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Content[0].(*sdk.TextContent).Text)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	servers := map[string]bool{}
	for _, tool := range tools.Tools {
		name, _, _ := strings.Cut(tool.Name, "_")
		servers[name] = true
	}
	fmt.Println(servers)
	// Output:
	// hello Ugg
	// 3
	// map[adder:true files:true greeter:true]
}
