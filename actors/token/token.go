package token

import (
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/oauth"
)

// mailbox bounds the waiting requests of people. Refusals are bounded by the calls in flight.
const mailbox = 256

// Options configure the actor.
type Options struct {
	Login     message.LoginKey
	Key       string                      // of the login in the store
	Stored    message.Token               // content of the store at the start; nil if there is none
	Agent     *oauth.Agent                // talks to authorization servers; its clock is that of the goroutines, not of step
	Robot     bool                        // client credentials: no person logs in
	Store     kernel.Reference            // receives RememberToken and ReadToken
	Owner     kernel.Reference            // receives LoginChanged
	Secrets   func(now, before []string)  // receives the login's secret values, and the former ones; may be nil
	Unawaited func(who string, err error) // receives the end of a login that completes while no caller waits for it; may be nil
	Budget    *Budget                     // bounds the pending logins of all token actors together; nil = each has its own bound only
	Life      uint64                      // distinguishes the name from that of an actor of the same login that is still stopping
	Seed      uint64                      // for jitter
	Log       *slog.Logger
}

// Spawn starts the actor as a child of parent, on whose goroutine it must be called. Its state survives a panic and the restart
// after it.
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
