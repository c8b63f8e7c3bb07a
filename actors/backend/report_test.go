package backend

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// The status says what a connection is used for, and by which clients.
func TestConnectionIsFor(t *testing.T) {
	tenant := message.Tenant{Client: "abc", Who: "key:ada", Isolation: "session"}
	login := message.Tenant{Who: "key:ada@0123456789abcdef", Lane: "key:ada@0123456789abcdef", Isolation: "principal"}
	for _, c := range []struct {
		server  config.Server
		options Options
		version string // of the server; "" = not connected
		want    string
	}{
		{config.Server{}, Options{Catalog: true}, "2025-11-25", "lists, and every client"},
		{config.Server{Isolation: "class"}, Options{Catalog: true}, "2026-07-28", "lists, and every client"},
		{config.Server{Isolation: "class"}, Options{Catalog: true}, "2025-11-25", "lists, and clients that answer every kind of request"},
		{config.Server{Isolation: "session"}, Options{Catalog: true}, "2025-11-25", "lists; clients have connections of their own"},
		{config.Server{Isolation: "class"}, Options{Announce: message.CanSample | message.CanRoots}, "2025-11-25", "clients that answer sampling, roots"},
		{config.Server{Isolation: "class"}, Options{}, "", "clients that answer no requests"},
		{config.Server{Isolation: "class"}, Options{Announce: message.CanForm, Legacy: true}, "2025-11-25", "clients that answer forms, in older protocol versions"},
		{config.Server{Isolation: "leased"}, Options{Announce: message.CanAll}, "2025-11-25", "one call at a time"},
		{config.Server{Isolation: "session"}, Options{Whose: tenant.Description()}, "2025-11-25", "one session of key:ada"},
		{config.Server{Isolation: "principal"}, Options{Whose: login.Description()}, "2025-11-25", "key:ada (principal), its own login"},
	} {
		c.options.Server, c.options.Name = c.server, "0.2"
		s := newState(c.options, kernel.Reference{}, new(uint64))
		if c.version != "" {
			s.conn.info = &message.ServerInfo{Version: c.version}
		}
		if got := s.report(time.Unix(0, 0)); got.For != c.want || got.Name != "0.2" {
			t.Errorf("%+v: %s is for %q, want %q", c.options, got.Name, got.For, c.want)
		}
		if r := s.route(); r.Backend != "0.2" || r.Protocol != c.version || s.route() != r {
			t.Errorf("route %+v, want 0.2 and %q", r, c.version)
		}
	}
}

// The first and the last line that was not a message are kept, shortened and without control characters.
func TestNoiseInTheReport(t *testing.T) {
	s := newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))
	for _, line := range []string{"Listening on port 3000\x1b[31m", "second", strings.Repeat("x", 10<<20)} {
		s.receivedGarbage(time.Unix(0, 0), upstream.Noise{Line: []byte(line)}, nil)
	}
	got := s.report(time.Unix(0, 0))
	if got.Noise != 3 || got.FirstNoise != "Listening on port 3000[31m" || got.LastNoise != strings.Repeat("x", maxGarbage)+"…" {
		t.Errorf("%d lines, first %q, last %.30q (%d bytes)", got.Noise, got.FirstNoise, got.LastNoise, len(got.LastNoise))
	}
}
