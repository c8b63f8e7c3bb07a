package token

import (
	"sync/atomic"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol/upstream"
)

// Handle is a login as links see it. It implements upstream.Credentials; safe from any goroutine.
type Handle struct {
	actor kernel.Reference
	now   atomic.Pointer[current] // nil = there is no token; written by the actor only
}

// current is a token as it is sent. Immutable.
type current struct{ authorization string }

// Actor is whom to tell BeginLogin, FinishLogin, EndLogin and Inspect.
func (h *Handle) Actor() kernel.Reference { return h.actor }

// Authorization implements upstream.Credentials.
func (h *Handle) Authorization() string {
	if c := h.now.Load(); c != nil {
		return c.authorization
	}
	return ""
}

// Refused implements upstream.Credentials.
func (h *Handle) Refused(sent string, status int, challenges []string) <-chan upstream.Verdict {
	reply := make(chan upstream.Verdict, 1)
	h.actor.Tell(refused{sent, status, challenges, reply})
	return reply
}

// refused tells the actor that a request with that value was answered so.
type refused struct {
	sent       string
	status     int
	challenges []string
	reply      chan<- upstream.Verdict // capacity 1
}

// Class: there are as many as calls in flight at the server.
func (refused) Class() kernel.Class { return kernel.Outcome }

// Abandon answers when the actor is gone.
func (m refused) Abandon(why kernel.Reason) {
	m.reply <- upstream.Verdict{Err: &Error{Op: "renew the login", Err: errGone, hint: string(why)}}
}
