// Package mcpgo connects the library github.com/mark3labs/mcp-go to a gateway in the same process.
//
// Server makes an MCPServer a server of the gateway:
//
//	s := server.NewMCPServer("clock", "1.0.0", server.WithToolCapabilities(true))
//	s.AddTool(mcp.NewTool("now"), now)
//	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
//		"clock": {Connect: mcpgo.Server(s)},
//	}})
//
// Transport connects an mcp-go client to the gateway:
//
//	c := client.NewClient(mcpgo.Transport(g))
//
// No socket and no process is involved, but messages are encoded as they are on a socket. A connection is a session of the
// MCPServer, so its hooks, filters and session tools work. As with a server on stdin and stdout, one connection serves
// all clients of the gateway, unless the setting "isolation" says otherwise.
package mcpgo
