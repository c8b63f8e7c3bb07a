package token

import (
	"sync/atomic"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol/upstream"
)

// Handle gives a server's connections access to a login. It implements upstream.Credentials and is safe for concurrent
// use.
type Handle struct {
	actor kernel.Reference
	now   atomic.Pointer[current] // nil if there is no token; written only by the actor

	stopWatch func() // ends the watch of the shared record; nil = there is none; used only by the actor
}

// current is a token as sent in requests. It is immutable.
type current struct{ authorization string }

// Actor returns the actor that receives BeginLogin, FinishLogin, EndLogin and Inspect.
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

// refused tells the actor that the server refused a request that was sent with that authorization.
type refused struct {
	sent       string // value of the request's Authorization header; "" = none
	status     int    // 401 or 403
	challenges []string
	reply      chan<- upstream.Verdict // capacity 1
}

// Class implements kernel.Classed. The number of refusals is bounded by the calls in flight at the server.
func (refused) Class() kernel.Class { return kernel.Outcome }

// Abandon answers with an error if the actor does not handle the message or panics.
func (m refused) Abandon(why kernel.Reason) {
	m.reply <- upstream.Verdict{Err: &Error{Op: "renew the login", Err: errGone, hint: string(why)}}
}
