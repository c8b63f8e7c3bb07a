// Package demo is the built-in MCP servers: what goblin-actor shows before anybody configured a server, and what
// its tests and measurements talk to. They are small and honest servers written on our own frames, so that any
// protocol version can be forced on them.
//
//	notes         tools that change a small notebook, one resource a note, a template, a prompt, completion
//	clock         a resource that changes every second, and a slow tool with progress that can be cancelled
//	oracle        tools, a prompt and a resource that ask the client back: forms, pages to visit, sampling, roots
//	conformance   every tool, resource and prompt that the official conformance suite asks for
//
// They speak every version, each message in its own era. Handlers are the same in both: in 2026-07-28, where there are no requests to
// clients, a call that asks ends with input_required, and when its client comes back with the answers its handler runs
// again from the beginning; see askAll for what that asks of a handler. Nothing waits meanwhile: earlier answers travel in the sealed
// requestState.
//
// Over HTTP they speak streamable HTTP at /mcp, with streams that can be resumed, and HTTP+SSE of 2024-11-05 at /sse.
//
// A Server owns what it offers and its sessions; one mutex guards both, and is never held while a handler runs or
// while something is written. Every request of a client runs in a goroutine of its own with a Call in its hand,
// the number of them in a session is bounded. A message that belongs to no request waits, newest a key, until the
// client has a stream to read it from, so a change right after the handshake is not lost.
//
//	server := demo.New("greeter", "1.0.0")
//	server.AddTool(demo.Tool{Name: "greet", Description: "Say hello", Handle: func(c *demo.Call) (any, error) {
//		return demo.Text("hello"), nil
//	}})
//	err := demo.ServeStdio(ctx, server, os.Stdin, os.Stdout, log)
package demo
