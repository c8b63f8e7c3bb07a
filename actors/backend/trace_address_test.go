package backend

import (
	"testing"

	"goblin-actor/internal/config"
)

// The address of a replica is that of its own URL, also in a group.
func TestAddress(t *testing.T) {
	of := func(urls ...string) config.Server { return config.Server{URLs: urls} }
	for _, c := range []struct {
		name    string
		server  config.Server
		replica int
		host    string
		port    int
	}{
		{"process", config.Server{Command: "x", Replicas: 2}, 1, "", 0},
		{"port", of("http://127.0.0.1:9000/mcp"), 0, "127.0.0.1", 9000},
		{"default ports", of("http://a/mcp", "https://b/mcp"), 1, "b", 443},
		{"IPv6", of("http://[::1]/mcp"), 0, "::1", 80},
		{"group", config.Server{Members: []config.Server{{Command: "x", Replicas: 2}, of("http://a", "http://b:1")}}, 3, "b", 1},
		{"invalid", of("http://%zz"), 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &state{server: c.server, replica: c.replica}
			if host, port := s.address(); host != c.host || port != c.port {
				t.Errorf("got %q, %d", host, port)
			}
		})
	}
}
