package token

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/oauth"
)

// mailbox is the maximum number of queued requests to log in or out. Refusals are bounded by the calls in flight.
const mailbox = 256

// Options configure the actor.
type Options struct {
	Login             message.LoginKey
	Key               string                      // key of the login in the store
	Stored            message.Token               // the stored login; nil if there is none
	Agent             *oauth.Agent                // sends requests to authorization servers; its clock is real time, not that of step
	ClientCredentials bool                        // the gateway logs in with client credentials, and people do not log in
	Store             kernel.Reference            // receives RememberToken and ReadToken
	Owner             kernel.Reference            // receives LoginChanged
	Shared            claim.Store                 // keeps the login for all nodes of a cluster; nil = this gateway alone has the login
	NewTag            func() string               // returns a text that differs in all calls on all nodes; needed with Shared
	Secrets           func(now, before []string)  // receives the login's secrets, and the previous ones; may be nil
	Unawaited         func(who string, err error) // receives the outcome of a login that ends while no caller waits for it; may be nil
	Budget            *Budget                     // limits the pending logins of all token actors together; nil = no common limit
	Life              uint64                      // distinguishes the actor's name from that of a stopping actor of the same login
	Seed              uint64                      // for jitter
	Log               *slog.Logger
}

// Spawn starts the actor as a child of parent and must be called on parent's goroutine. The login survives a panic and
// the restart after it. Requests, logins and logouts that are pending at the panic end with an error.
func Spawn(parent kernel.Self, o Options) *Handle {
	h := &Handle{}
	s := newState(o)
	name := "token/" + o.Login.Entry
	if o.Login.Lane != "" {
		name += "/" + identity.IDIn(o.Login.Lane)
	}
	name = fmt.Sprintf("%s.%d", name, o.Life)
	options := kernel.SpawnOptions{Name: name, Kind: "token", Mailbox: mailbox, Restarts: 10, Within: time.Minute, Log: o.Log}
	h.actor = kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		s.self = self.Reference()
		return &shell{Options: o, handle: h, state: s}
	})
	return h
}
