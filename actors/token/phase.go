package token

import "time"

// phase is the state of the login.
type phase string

const (
	none        phase = "none"        // no request has needed the login since the start or the last logout
	discovering phase = "discovering" // the authorization server is being discovered
	needsLogin  phase = "needs-login" // a person has to log in
	fresh       phase = "fresh"       // there is a usable token
	refreshing  phase = "refreshing"  // a new token is being requested, read from the store or written to it
	stale       phase = "stale"       // the last renewal failed; the old token, if any, stays in use and the renewal is retried
)

// transitions lists the legal transitions.
var transitions = map[phase][]phase{
	none:        {discovering, fresh, refreshing, needsLogin},
	discovering: {needsLogin, refreshing, fresh, stale, none},
	needsLogin:  {discovering, refreshing, fresh, none},
	fresh:       {refreshing, needsLogin, none, discovering},
	refreshing:  {fresh, stale, needsLogin, none},
	stale:       {refreshing, fresh, needsLogin, none, discovering},
}

const (
	maxRefused        = 4096             // refused requests that wait for one renewal
	loginTimeout      = 10 * time.Minute // limit for a person to complete a login
	maxLoginsOfOne    = 4                // pending logins of one principal; a further one cancels the oldest
	maxLogins         = 64               // pending logins of all principals
	maxForced         = 3                // consecutive renewals that are forced by refusals within forcedWithin of a token's publication
	forcedWithin      = time.Minute
	maxStepUps        = 3 // consecutive replacements of a token by one with more scopes
	backoffMin        = time.Second
	backoffMax        = 5 * time.Minute
	storeTimeout      = 10 * time.Second // limit for the store to write a token
	minRenewInterval  = 10 * time.Second // shortest time between two scheduled renewals, except for tokens with a shorter life
	maxAdopted        = 3                // consecutive logins of other processes that are adopted
	discoveryInterval = 10 * time.Second // shortest time from a failed discovery to the next one
)
