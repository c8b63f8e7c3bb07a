// Package demo contains the built-in MCP servers. They demonstrate goblin-actor without any configured server, and
// serve its tests and measurements. They are small servers built directly on package protocol, not on an SDK, so that
// they can be forced to any protocol version.
//
//	notes         tools that change a notebook, a resource per note, a template, a prompt, completion
//	clock         a resource that changes every second, and a slow tool with progress that can be canceled
//	oracle        tools, a prompt and a resource that send requests to the client: forms, URLs, sampling, roots
//
// NewConformance is the fixture of the official conformance suites and of this package's tests. The program does not
// offer it; tests/conformance/fixture serves it.
//
// The servers speak all versions and determine the era per message. Handlers are the same in both eras. MCP 2026-07-28
// has no requests to clients, so a call with a question ends with input_required. When the client repeats the call with
// the answers, its handler runs again from the start; askAll lists the requirements for handlers. Nothing waits in
// between: earlier answers are part of the sealed requestState.
//
// Over HTTP, the servers offer Streamable HTTP at /mcp, with resumable streams, and HTTP+SSE of 2024-11-05 at /sse.
//
// A Server owns its items and its sessions. One mutex guards both. It is never held while a handler runs or data is
// written. Every request runs in its own goroutine with a Call, and the number of requests per session is limited.
// Messages that belong to no request are kept until the client has a stream for them, so a change right after the
// handshake is not lost. Only the newest message per key is kept.
//
//	server := demo.New("greeter", "1.0.0")
//	server.AddTool(demo.Tool{Name: "greet", Description: "Say hello", Handle: func(c *demo.Call) (any, error) {
//		return demo.Text("hello"), nil
//	}})
//	err := demo.ServeStdio(ctx, server, os.Stdin, os.Stdout, log)
package demo
