package actortest

import (
	"testing"

	"goblin-actor/protocol"
)

// Frame parses a message. It fails the test if the message is invalid.
func Frame(t testing.TB, raw string) (f protocol.Frame) {
	t.Helper()
	if err := f.Parse([]byte(raw)); err != nil {
		t.Fatalf("parse %s: %v", raw, err)
	}
	return f
}

// Request parses a request or notification and its params.
func Request(t testing.TB, raw string) (f protocol.Frame, p protocol.Params) {
	t.Helper()
	f = Frame(t, raw)
	if err := p.Scan(&f); err != nil {
		t.Fatalf("scan %s: %v", raw, err)
	}
	return f, p
}
