// Package gateway runs goblin-actor inside a Go program: many MCP servers behind one catalog, without a listener. It is all there is
// to import from outside this module; everything else may change from one version to the next.
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
// The program is a client of the gateway like any other: it is bound by the same limits, names, queues and time-outs, which
// docs/config.md explains. Of a configuration's policy it is whoever is not asked (local: true), with one exception: a role's rate does not count
// for it, as it is trusted to ask as often as it wants (toolRate does, as that spares the tool). Methods may be called from any goroutine; each blocks until it is
// answered or its context ends, and then the server is told to cancel. What the gateway and its servers answer with instead of a result is an
// *Error. Nothing is left behind by Close or Stop: no goroutine, no process.
//
// Callbacks (progress, questions) are called from goroutines of the gateway's, several at once. One that does not return holds up its own call and
// no other, but also Close and Stop, which must not be called from one. No progress is told after its call has returned, unless the
// context ended while it was being told; a question's context ends with its call.
package gateway
