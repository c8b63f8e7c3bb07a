// Package gateway runs goblin-actor inside a Go program: many MCP servers behind one catalog, without a listener. Packages
// gateway/mcpgo and gateway/gosdk connect servers and clients of Go libraries to it. All other packages of the module may
// change with every version.
//
//	g, err := gateway.Start(ctx, gateway.Config{Servers: map[string]gateway.Server{
//		"files":  {Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."}},
//		"github": {URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer …"}},
//	}})
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//	tools, err := g.ListTools(ctx, true)
//	result, err := g.CallTool(ctx, "files_read_file", map[string]any{"path": "notes.md"}, nil)
//
// The program is a client of the gateway like any other. The same limits, names, queues and timeouts apply;
// docs/config.md describes them. A policy treats the program as a client without authentication (local: true), except
// that a role's rate does not apply. toolRate applies, because it protects the tool. Methods may be called
// concurrently. A method that sends a request blocks until the response arrives or its context ends. When the context of
// a call ends, the gateway cancels the request at the server. Error responses of the gateway and its servers are returned
// as *Error. When Close or Stop returns, no goroutine and no process is left. The exception is a Server.Connect function
// that did not return; the error names its server.
//
// A server can be a function of the program (Server.Connect). Clients can be in the program (Dial) or use its HTTP server
// (Handler).
//
// The gateway calls callbacks (Progress, Questions) on its own goroutines and may call several at the same time. While
// a callback runs, its call cannot complete, and neither can Close or Stop; other calls are not delayed. A callback
// must not call Close or Stop. Progress is not called after its call has returned. But if ctx ends while Progress is
// running, the call returns first. The context of a Questions function ends with its call.
package gateway
