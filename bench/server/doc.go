// Package server provides the processes that a measurement needs besides the gateway: raw MCP servers that send
// prepared responses, a reverse proxy, a forwarder, and a handler that serves a file.
//
// Each prints its URL and ends at the end of its input. A raw server with a control socket can be changed while it
// runs: its list, its resource, and whether it responds.
package server
