package process

import (
	"fmt"
	"strings"
)

// ServerKinds are the kinds of raw servers that fanout, faults and growth can run behind the gateway: streamable HTTP
// that answers with JSON, streamable HTTP that answers with a stream of one event ("events"), HTTP+SSE, and a process
// on stdio. Kinds without "modern" speak 2025-11-25.
var ServerKinds = []string{"http", "events", "sse", "stdio", "http-modern", "events-modern", "stdio-modern"}

// Eras are the eras of clients.
var Eras = []string{"legacy", "modern"}

// RawServer is a raw server behind the gateway whose behavior can be changed by commands.
type RawServer struct {
	remote
	Kind, Name string
	transport  string   // http, events, sse or stdio
	args       []string // arguments of the server's command line
	socket     string
	At         *Process       // nil = the gateway starts the server, on stdio
	Entry      map[string]any // the server's entry in the gateway's configuration
}

// Command sends a command to the server and returns its result.
func (b *RawServer) Command(format string, args ...any) (int, error) {
	n, err := b.command(b.socket, fmt.Sprintf(format, args...))
	if err != nil {
		b.Close()
		err = fmt.Errorf("server %s: %w", b.Name, err)
	}
	return n, err
}

// newRawServerOf returns a server of the given kind that has not been started.
func newRawServerOf(kind, name, socket string, more []string) *RawServer {
	transport, era, _ := strings.Cut(kind, "-")
	b := &RawServer{Kind: kind, Name: name, socket: socket, transport: transport}
	b.args = append([]string{"server", "--control", socket}, more...)
	if era == "modern" {
		b.args = append(b.args, "--modern")
	}
	switch transport {
	case "events":
		b.args = append(b.args, "--events")
	case "sse":
		b.args = append(b.args, "--sse")
	case "stdio":
		b.args = append(b.args, "--stdio")
	}
	return b
}

// onStdio reports whether the gateway starts the server.
func (b *RawServer) onStdio() bool { return b.transport == "stdio" }

// configType returns the server's type in the gateway's configuration.
func (b *RawServer) configType() string {
	if b.transport == "sse" {
		return "sse"
	}
	return "http"
}

// Restart starts a killed HTTP server again, at the same address.
func (b *RawServer) Restart(g *Group) (err error) {
	<-b.At.Done
	b.At, err = g.Helper(append(b.args, "--listen", b.At.URL.Host)...)
	return err
}
