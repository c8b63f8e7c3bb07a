// Package gosdk connects the official Go SDK, github.com/modelcontextprotocol/go-sdk, to a gateway in the same process.
//
// Server makes an mcp.Server a server of the gateway:
//
//	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.0.0"}, nil)
//	mcp.AddTool(s, &mcp.Tool{Name: "now"}, now)
//	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
//		"clock": {Connect: gosdk.Server(s)},
//	}})
package gosdk
