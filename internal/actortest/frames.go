package actortest

import (
	"testing"

	"goblin-actor/protocol"
)

// Frame parses one message; the test fails when it is none.
func Frame(t testing.TB, raw string) (f protocol.Frame) {
	t.Helper()
	if err := f.Parse([]byte(raw)); err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	return f
}

// Request parses a request or notification and its params, as whoever receives it from a client does.
func Request(t testing.TB, raw string) (f protocol.Frame, p protocol.Params) {
	t.Helper()
	f = Frame(t, raw)
	if err := p.Scan(&f); err != nil {
		t.Fatalf("scan %s: %v", raw, err)
	}
	return f, p
}
