package session

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// acts returns the effects of a message, without the messages to other actors.
func acts(s *state, msg any) (list []any) {
	for _, e := range step(s, time.Unix(1000, 0), msg, nil) {
		if e.Act != nil {
			list = append(list, e.Act)
		}
	}
	return list
}

func one[T any](t *testing.T, list []any) T {
	t.Helper()
	for _, a := range list {
		if v, ok := a.(T); ok {
			return v
		}
	}
	var none T
	t.Fatalf("no %T in %+v", none, list)
	return none
}

func has[T any](list []any) bool {
	for _, a := range list {
		if _, ok := a.(T); ok {
			return true
		}
	}
	return false
}

// protocol.md L11: a session of HTTP+SSE sends its endpoint, has one stream, and ends with it. A client has one minute to send
// initialize.
func TestSessionOfOneStream(t *testing.T) {
	opened := func() (*state, *downstream.EventStream) {
		s := newState(Options{ID: "1aid", Transport: "sse"}, kernel.Reference{})
		stream := &downstream.EventStream{Origin: downstream.Origin{Path: "/s/files/sse"}}
		if e := one[openStream](t, acts(s, message.StreamOpened{Stream: stream})); e.endpoint != "/s/files/messages?sessionId=1aid" || e.refusal != 0 {
			t.Fatalf("%+v", e)
		}
		return s, stream
	}
	s, stream := opened()
	if e := one[openStream](t, acts(s, message.StreamOpened{Stream: &downstream.EventStream{}})); e.refusal != 405 {
		t.Errorf("second stream: %+v", e)
	}
	if !has[kernel.SelfStop](acts(s, message.StreamClosed{Stream: stream})) {
		t.Error("the session does not end with its stream")
	}
	s, _ = opened()
	if !has[kernel.SelfStop](acts(s, openTimeout{})) {
		t.Error("the session of a client that never sent initialize does not end")
	}
	s.client.initialized = true
	if has[kernel.SelfStop](acts(s, openTimeout{})) {
		t.Error("the session of a client that sent initialize ends")
	}
}

// A stream of Streamable HTTP is resumed if the client's version supports that and the client sends Last-Event-ID.
func TestWhichStreamsAreResumed(t *testing.T) {
	for _, test := range []struct {
		transport, version, last string
		want                     bool
	}{
		{"http", protocol.Version20251125, "x", true}, {"http", protocol.Version20250326, "x", true},
		{"http", protocol.Version20241105, "x", false}, {"http", protocol.Version20251125, "", false},
		{"stdio", protocol.Version20251125, "x", false},
	} {
		s := newState(Options{Transport: test.transport}, kernel.Reference{})
		s.client.initialized, s.client.version, s.client.path = true, test.version, "/mcp"
		stream := &downstream.EventStream{Origin: downstream.Origin{Path: "/mcp", LastEvent: test.last}}
		if e := one[openStream](t, acts(s, message.StreamOpened{Stream: stream})); e.resume != test.want {
			t.Errorf("%+v: %+v", test, e)
		}
		// Nothing is pushed to a resumed stream until streamReady says that it may be.
		if pushed := len(s.streams) == 1; pushed == test.want {
			t.Errorf("%+v: %d streams", test, len(s.streams))
		}
		if acts(s, streamReady{stream}); test.want && len(s.streams) != 1 {
			t.Errorf("%+v: not among the streams", test)
		}
	}
}
