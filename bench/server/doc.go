// Package server provides the processes that a measurement needs besides the gateway: raw MCP servers that send
// prepared responses, a reverse proxy, a forwarder, a handler that serves a file, and an OTLP collector that discards
// what it receives.
//
// Each prints its URL and ends when its input ends. While a raw server with a control socket runs, commands can change
// its list and its resource and make it hang.
package server
