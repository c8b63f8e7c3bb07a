// Package upstream is the port towards servers: a connection is a [Link], which moves frames, decides nothing about MCP and
// tells a [Sink] what happened. The links stand in rooms of their own:
//
//	process   a program on stdin and stdout
//	remote    a URL: streamable HTTP, HTTP+SSE of 2024-11-05, or whichever of the two it speaks
//	pipe      a peer in the same program
//	linktest  what tests of links share
//
// Invariants:
//   - Exactly one of Written and NotSent is told of an Outgoing, and after Closed nothing is told.
//   - A frame's bytes belong to whoever was given them last and are never written to again.
//   - Connections, processes and their goroutines belong to the link and end with Close, or with their peer.
package upstream
