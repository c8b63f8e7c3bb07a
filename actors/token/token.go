package token

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// mailbox is how many requests of people may wait; refusals are bounded by the calls in flight.
const mailbox = 256

// askAtMost is how long the requests for one thing may take together; each has a bound of its own.
const askAtMost = 30 * time.Second

// Options are what the actor needs.
type Options struct {
	Login     message.LoginKey
	Key       string                      // under which the store keeps it
	Kept      message.Token               // what the store had at the start; nil = nothing
	Agent     *oauth.Agent                // speaks with authorization servers; its clock is that of the goroutines, not of the steps
	Robot     bool                        // nobody logs in: client credentials
	Store     kernel.Reference            // is told RememberToken and ReadToken
	Owner     kernel.Reference            // is told LoginChanged
	Secrets   func(now, before []string)  // is told which values of the login are secret, and which were; nil = nobody wants to know
	Unawaited func(who string, err error) // is told how a login has ended that is finished elsewhere, and for which nobody waits; nil = nobody wants to know
	Budget    *Budget                     // of logins under way, shared by all token actors; nil = no bound beside that of each
	Life      uint64                      // tells it from an actor of the same login that is still ending: its name is taken
	Seed      uint64                      // of jitter
	Log       *slog.Logger
}

// Spawn starts the actor under its owner, on whose goroutine it must be called. What it knows outlives a panic and the restart after it.
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

// shell carries out what step wants done.
type shell struct {
	Options
	handle *Handle
	state  *state
}

func (h *shell) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(h.state, now, msg, out)
}

// What the shell carries out. number comes back with the result.
type (
	publish struct{ now *current } // nil = there is no token any more
	verdict struct {
		to   chan<- upstream.Verdict
		what upstream.Verdict
	}
	started struct {
		to   chan<- message.LoginStarted
		what message.LoginStarted
	}
	finished struct {
		to  chan<- message.LoginFinished
		err error
	}
	discover struct {
		number    uint64
		challenge oauth.Challenge
	}
	refresh struct {
		number uint64
		site   *oauth.Site
		client oauth.Client
		token  oauth.Token
	}
	credentials struct {
		number uint64
		site   *oauth.Site
		scopes []string
	}
	begin struct {
		number    uint64
		challenge oauth.Challenge
		heard     bool // the challenge is what the server said
		scopes    []string
		redirect  string
		device    bool
		known     []oauth.Client
	}
	redeem struct {
		number uint64
		login  *oauth.Login
		answer oauth.Answer
	}
	poll struct {
		number uint64
		login  *oauth.Login
	}
	revoke struct {
		number uint64
		site   *oauth.Site
		client oauth.Client
		token  oauth.Token
	}
	unawaited struct { // a login has ended that nobody waits for
		who string
		err error
	}
	forgot      struct{ to chan<- struct{} }   // a login is, here
	release     struct{ logins int }           // are no longer under way
	tellSecrets struct{ now, before []string } // of the login
)

func (h *shell) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case publish:
		h.handle.now.Store(a.now)
	case verdict:
		a.to <- a.what
	case started:
		a.to <- a.what
	case finished:
		if a.to != nil {
			a.to <- message.LoginFinished{Err: a.err, Hint: hintOf(a.err)}
		}
	case forgot:
		if a.to != nil {
			a.to <- struct{}{}
		}
	case tellSecrets:
		if h.Secrets != nil {
			h.Secrets(a.now, a.before)
		}
	case unawaited:
		if h.Unawaited != nil {
			h.Unawaited(a.who, a.err)
		}
	case release:
		h.Budget.give(a.logins)
	default:
		h.ask(self, act)
	}
}

// ask asks an authorization server something, on a goroutine.
func (h *shell) ask(self kernel.Self, act any) {
	agent := h.Agent
	switch a := act.(type) {
	case discover:
		run(self, func(ctx context.Context) any {
			site, err := agent.Discover(ctx, a.challenge)
			return discovered{a.number, site, err}
		}, func(err error) any { return discovered{a.number, nil, err} })
	case refresh:
		run(self, func(ctx context.Context) any {
			t, err := agent.Refresh(ctx, a.site, a.client, a.token)
			return granted{a.number, t, err}
		}, func(err error) any { return granted{a.number, oauth.Token{}, err} })
	case credentials:
		run(self, func(ctx context.Context) any {
			t, err := agent.ClientCredentials(ctx, a.site, a.scopes)
			return granted{a.number, t, err}
		}, func(err error) any { return granted{a.number, oauth.Token{}, err} })
	case begin:
		if !h.Budget.take() {
			self.Next(begun{number: a.number, err: ErrTooMany})
			return
		}
		budget := h.Budget
		run(self, func(ctx context.Context) any { return beginLogin(ctx, agent, budget, a) }, func(err error) any { return begun{number: a.number, taken: true, budget: budget, err: err} })
	case redeem:
		run(self, func(ctx context.Context) any {
			t, err := agent.Redeem(ctx, a.login, a.answer)
			return redeemed{a.number, t, err}
		}, func(err error) any { return redeemed{a.number, oauth.Token{}, err} })
	case poll:
		run(self, func(ctx context.Context) any {
			t, err := agent.Poll(ctx, a.login)
			return polled{a.number, t, err}
		}, func(err error) any { return polled{a.number, oauth.Token{}, err} })
	case revoke:
		run(self, func(ctx context.Context) any {
			return revoked{a.number, agent.Revoke(ctx, a.site, a.client, a.token)}
		}, func(err error) any { return revoked{a.number, err} })
	}
}

// run does something on a goroutine; if it panics, failed makes its result.
func run(self kernel.Self, f func(ctx context.Context) any, failed func(error) any) {
	self.Go(func(ctx context.Context) (result any) {
		defer func() {
			if cause := recover(); cause != nil {
				self.Logger().Error("a request to an authorization server panicked", "error", cause)
				result = failed(fmt.Errorf("panic: %v", cause))
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, askAtMost)
		defer cancel()
		return f(ctx)
	})
}

// beginLogin begins a login by browser or device. Where to log in is found out anew: it may have moved.
func beginLogin(ctx context.Context, agent *oauth.Agent, budget *Budget, a begin) begun {
	b := begun{number: a.number, taken: true, budget: budget}
	if !a.heard {
		a.challenge = agent.Ask(ctx)
	}
	var site *oauth.Site
	if site, b.err = agent.Discover(ctx, a.challenge); b.err != nil {
		return b
	}
	var client oauth.Client
	if client, b.err = agent.Register(ctx, site, a.redirect, a.known...); b.err != nil {
		return b
	}
	scopes := oauth.Union(site.Scopes, a.scopes)
	if a.device {
		b.login, b.device, b.err = agent.AuthorizeDevice(ctx, site, client, scopes)
	} else {
		b.login, b.err = agent.Authorize(site, client, scopes, a.redirect)
	}
	return b
}

// hintOf says what a person can do about err.
func hintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint()
	}
	return oauth.Hint(err)
}

// newState makes the state of the actor's life.
func newState(o Options) *state {
	s := &state{
		store: o.Store, owner: o.Owner, login: o.Login, key: o.Key, server: o.Agent.Server, config: o.Agent.Config, robot: o.Robot,
		rng: rand.New(rand.NewPCG(o.Seed, 0)), pending: map[uint64]*pending{}, late: map[uint64]late{}, revoking: map[uint64]*ending{},
	}
	s.kept = o.Kept
	return s
}
