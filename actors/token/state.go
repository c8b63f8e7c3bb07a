package token

import (
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// phase is where the login stands.
type phase string

const (
	none        phase = "none"        // nobody has wanted anything yet
	discovering phase = "discovering" // it is being found out where to log in
	needsLogin  phase = "needs-login" // a person has to do something
	fresh       phase = "fresh"       // there is a token
	refreshing  phase = "refreshing"  // a new one is under way: asked for, looked up, or on its way to the disk
	stale       phase = "stale"       // the last attempt to get one failed; the old one is still used, and it is tried again
)

// transitions are all that there are.
var transitions = map[phase][]phase{
	none:        {discovering, fresh, refreshing, needsLogin},
	discovering: {needsLogin, refreshing, fresh, stale, none},
	needsLogin:  {discovering, refreshing, fresh, none},
	fresh:       {refreshing, needsLogin, none, discovering},
	refreshing:  {fresh, stale, needsLogin, none},
	stale:       {refreshing, fresh, needsLogin, none, discovering},
}

const (
	waitAtMost      = 4096             // refused requests that wait for one renewal
	loginLasts      = 10 * time.Minute // of a login under way
	mostOfOne       = 4                // logins under way that one principal has; a further one ends the oldest
	mostOfAll       = 64               // logins under way
	forcedAtMost    = 3                // renewals of tokens that were refused soon after they came
	forcedWithin    = time.Minute      // soon
	stepsAtMost     = 3                // times that a robot's token is replaced by one that reaches further
	backoffFirst    = time.Second
	backoffAtMost   = 5 * time.Minute
	keepAtMost      = 10 * time.Second // that the store may take
	renewAtLeast    = 10 * time.Second // between two renewals ahead of time
	adoptAtMost     = 3                // logins of other processes that are taken over without one that works
	discoverAtLeast = 10 * time.Second // between two attempts to find out where to log in
)

// state is all the actor knows. Written by step only.
type state struct {
	self, store, owner kernel.Reference
	login              message.LoginKey
	key, server        string
	config             oauth.Config
	robot              bool
	rng                *rand.Rand
	kept               message.Token // of the store, until it was read

	phase   phase
	told    message.LoginPhase
	record  record
	secrets []string // of record, as they were told; nobody writes to them
	current *current // what links send; nil = nothing

	challenge oauth.Challenge // the last that was heard
	heard     bool            // one was
	more      []string        // scopes that were asked of a person's login, and that it lacks

	number  uint64 // of the last request that was made
	flight  uint64 // of the request for the login's own renewal that is under way; 0 = none
	reading bool   // the store looks the login up
	keeping uint64 // number of what the store is to keep before it is used; 0 = nothing
	timer   uint64 // generation of the timer for the next renewal

	waiting   []chan<- upstream.Verdict      // refused requests that wait for the renewal
	finishing []chan<- message.LoginFinished // people whose login is there as soon as it is on disk
	pending   map[uint64]*pending            // logins under way, by number

	endings  []*ending          // logins that were given up, and whose authorization server has not heard of everything yet
	late     map[uint64]late    // requests for tokens of these, by number
	revoking map[uint64]*ending // requests to forget tokens, by number: at the authorization server, and in the store

	since    time.Time // the token of now came
	failures int       // in a row
	fault    error     // the last
	retryAt  time.Time // no attempt before; zero = any time
	forced   int       // renewals of tokens that were refused soon
	looped   bool      // it was said that no renewal helps; another one is planned
	denied   bool      // a request was told that there is no login, or none that helps, since the last was
	steps    int       // tokens that were to reach further
	adopted  int       // logins of other processes, in a row
}

// pending is a login under way.
type pending struct {
	who      string
	reply    chan<- message.LoginStarted  // nil = it was answered
	finish   chan<- message.LoginFinished // who waits for the end; nil = nobody
	login    *oauth.Login                 // nil = it has not begun yet
	device   bool
	interval time.Duration
	asked    bool // a request for its token is under way
	answered bool // its answer is being looked at: there is no second one
	taken    bool // of the budget
	step     bool // it is to reach further than the login there is
}

// Messages of the actor to itself. number says which request they answer.
type (
	discovered struct {
		number uint64
		site   *oauth.Site
		err    error
	}
	granted struct {
		number uint64
		token  oauth.Token
		err    error
	}
	begun struct {
		number uint64
		taken  bool // of the budget
		budget *Budget
		login  *oauth.Login
		device *oauth.Device
		err    error
	}
	redeemed struct {
		number uint64
		token  oauth.Token
		err    error
	}
	polled struct {
		number uint64
		token  oauth.Token
		err    error
	}
	revoked struct {
		number uint64
		err    error
	}
	due       struct{ timer uint64 }
	keptLate  struct{ number uint64 }
	loginOver struct{ number uint64 }
	pollDue   struct{ number uint64 }
)

// Abandon gives back what a login took that nobody hears of any more.
func (m begun) Abandon(kernel.Why) {
	if m.taken {
		m.budget.give(1)
	}
}
