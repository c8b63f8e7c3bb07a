// Package gosdk connects the official Go SDK, github.com/modelcontextprotocol/go-sdk, to a gateway in the same process.
//
// Server makes an mcp.Server a server of the gateway:
//
//	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1.0.0"}, nil)
//	mcp.AddTool(s, &mcp.Tool{Name: "now"}, now)
//	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
//		"clock": {Connect: gosdk.Server(s)},
//	}})
//
// Transport connects a client of the SDK to the gateway:
//
//	session, err := client.Connect(ctx, gosdk.Transport(g), nil)
//
// No socket and no process is involved, but messages are encoded as they are on a socket. As with a server on stdin and
// stdout, one connection serves all clients of the gateway, unless the setting "isolation" says otherwise.
package gosdk
