// Package gateway runs goblin-actor inside a Go program: many MCP servers behind one catalog, without a listener. It is the
// module's only public package; all others may change with every version.
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
// The program is a client of the gateway like any other. The same limits, names, queues and timeouts apply, which docs/config.md
// describes. A policy treats it as a client without authentication (local: true), except that a role's rate does not apply.
// toolRate applies, since it protects the tool. Methods may be called concurrently. Each blocks until it is answered or its
// context ends, in which case the request is canceled at the server. Error responses of the gateway and its servers are returned
// as *Error. Close and Stop leave no goroutine and no process behind.
//
// Callbacks (Progress, Questions) are called on goroutines of the gateway, several at once. A callback that does not return
// delays its own call and Close and Stop, but no other call. It must not call Close or Stop. Progress is not called after its
// call has returned, unless ctx ended while Progress was running. The context of a Questions function ends with its call.
package gateway
