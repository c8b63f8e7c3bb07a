// Package upstream defines connections to servers. A connection is a [Link]. It moves frames, decides nothing about MCP, and
// reports events to a [Sink]. These packages provide links:
//
//	process   to a program, on its stdin and stdout
//	remote    to a URL: Streamable HTTP, HTTP+SSE of 2024-11-05, or whichever of the two the server supports
//	embedded  to a server that is a function in this process
//	pipe      to a peer in the same process, for tests and simulations
//
// Package linktest contains helpers for tests of links.
//
// Invariants:
//   - A link reports exactly one of Written and NotSent for each Outgoing that is sent before Closed, and nothing after Closed.
//   - The last receiver of a frame owns its bytes. They are not modified again, unless the frame's Memory is freed.
//   - Connections, processes and their goroutines belong to the link. They end with Close, or when the peer ends.
package upstream
