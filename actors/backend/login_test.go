package backend

import (
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol/upstream"
)

// A request that needs a login makes the backend wait for the login, unless other calls run or only a scope is missing.
func TestRequestRefusedForItsLogin(t *testing.T) {
	for name, c := range map[string]struct {
		calls  int
		status int
		want   message.Phase
	}{"the only call": {1, 401, message.NeedsLogin}, "one of two": {2, 401, message.Ready}, "a scope is missing": {1, 403, message.Ready}} {
		o := readyWith(t, `{}`)
		o.s.transport, o.s.link = "http", traitsOf("http")
		id := uint32(0)
		for i := range c.calls {
			id = o.sends(uint64(i + 1))
		}
		var returned []message.NotExecuted
		for _, e := range step(o.s, time.Unix(0, 0), linkEvent{1, upstream.Ended{Ticket: uint64(id), Err: &upstream.LoginError{Status: c.status}}}, nil) {
			if m, is := e.Msg.(message.NotExecuted); is {
				returned = append(returned, m)
			}
		}
		if o.s.life.phase != c.want || len(returned) != 1 || returned[0].Login == nil || returned[0].Login.Scope != (c.status == 403) {
			t.Errorf("%s: phase %s, returned %+v; want %s and one", name, o.s.life.phase, returned, c.want)
		}
		requested := false
		for range 2 {
			for _, e := range step(o.s, time.Unix(0, 0), message.LoggedIn{}, nil) {
				if _, is := e.Msg.(message.RequestConnect); is {
					if requested {
						t.Errorf("%s: requested a connection twice", name)
					}
					requested = true
				}
			}
		}
		if requested != (c.want == message.NeedsLogin) {
			t.Errorf("%s: a login requests a connection: %v", name, requested)
		}
	}
}

// The end of a login closes a connection that is ready or being opened. A backend that is waiting or draining keeps its
// phase.
func TestEndOfALogin(t *testing.T) {
	for phase, want := range map[message.Phase]message.Phase{
		message.Ready: message.NeedsLogin, message.Handshaking: message.NeedsLogin, message.Waiting: message.Waiting, message.Draining: message.Draining,
	} {
		o := readyWith(t, `{}`)
		o.s.life.phase = phase
		o.step(message.LoggedOut{Reason: "logged out"})
		if o.s.life.phase != want {
			t.Errorf("%s became %s, want %s", phase, o.s.life.phase, want)
		}
	}
}
