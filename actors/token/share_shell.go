package token

import (
	"context"
	"errors"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/oauth"
)

// claimedUse is the timeout of a renewal under a claim.
const claimedUse = 15 * time.Second

// errLate is the error of a renewal whose claim was written too long ago, for example because the machine was suspended.
var errLate = recordError{errors.New("the claim of the login was written too long ago")}

type (
	watchRecord   struct{} // begins to watch the shared record
	unwatchRecord struct{} // ends it
	// seen is a change of the shared record.
	seen struct{ claim.Seen }
)

// Class implements kernel.Classed. The number of changes is bounded by the renewals, logins and logouts of all nodes.
func (seen) Class() kernel.Class { return kernel.Outcome }

// shareAct executes an effect on the shared record.
func (h *shell) shareAct(self kernel.Self, act any) {
	store := h.Shared
	switch a := act.(type) {
	case watchRecord:
		h.handle.unwatch()
		actor := self.Reference()
		h.handle.stopWatch = store.Watch(func(s claim.Stored) { actor.Tell(seen{claim.Seen{Stored: s}}) })
	case unwatchRecord:
		h.handle.unwatch()
	case claim.Get:
		run(self, func(ctx context.Context) any {
			found, err := store.Get(ctx)
			return claim.Got{Number: a.Number, Stored: found, Err: err}
		}, func(err error) any { return claim.Got{Number: a.Number, Err: err} })
	case claim.Put:
		run(self, func(ctx context.Context) any {
			revision, err := store.Put(ctx, a.Record, a.Revision)
			return claim.Written{Number: a.Number, Revision: revision, Err: err}
		}, func(err error) any { return claim.Written{Number: a.Number, Err: err} })
	}
}

// unwatch ends the watch of the shared record, if there is one.
func (h *Handle) unwatch() {
	if h.stopWatch != nil {
		h.stopWatch()
		h.stopWatch = nil
	}
}

// ask asks the authorization server for a new token. Under a claim, it does so only while no other node can have taken the claim over.
func (a *refresh) ask(ctx context.Context, agent *oauth.Agent) (oauth.Token, error) {
	if !a.until.IsZero() {
		left := min(time.Until(a.until), a.until.Round(0).Sub(time.Now().Round(0)), claimedUse) // monotonic, and by the wall clock
		if left <= 0 {
			return oauth.Token{}, errLate
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	return agent.Refresh(ctx, a.site, a.client, a.token)
}
