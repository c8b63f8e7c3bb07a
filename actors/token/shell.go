package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// requestTimeout is the timeout for all requests of one effect together. Each request also has a shorter timeout of its own.
const requestTimeout = 30 * time.Second

// shell executes the effects of step.
type shell struct {
	Options
	handle *Handle
	state  *state
}

func (h *shell) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(h.state, now, msg, out)
}

// Effects. A result carries the number of its effect.
type (
	publish struct{ now *current } // nil if there is no longer a token
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
		site   *oauth.AuthServer
		client oauth.Client
		token  oauth.Token
		until  time.Time // when the request must have ended; zero = requestTimeout applies
	}
	credentials struct {
		number uint64
		site   *oauth.AuthServer
		scopes []string
	}
	begin struct {
		number       uint64
		challenge    oauth.Challenge
		hasChallenge bool // whether the server has sent the challenge
		scopes       []string
		redirect     string
		device       bool
		known        []oauth.Client
	}
	redeem struct {
		number uint64
		login  *oauth.Login
		answer oauth.AuthResponse
	}
	poll struct {
		number uint64
		login  *oauth.Login
	}
	revoke struct {
		number uint64
		site   *oauth.AuthServer
		client oauth.Client
		token  oauth.Token
	}
	unawaited struct { // a login has ended while no caller waited for it
		who string
		err error
	}
	forgot        struct{ to chan<- struct{} } // signals that the login was removed from the state file
	release       struct{ logins int }         // returns logins to the budget
	reportSecrets struct{ now, before []string }
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
	case reportSecrets:
		if h.Secrets != nil {
			h.Secrets(a.now, a.before)
		}
	case unawaited:
		if h.Unawaited != nil {
			h.Unawaited(a.who, a.err)
		}
	case release:
		h.Budget.give(a.logins)
	case watchRecord, unwatchRecord, claim.Get, claim.Put:
		h.shareAct(self, act)
	default:
		h.request(self, act)
	}
}

// request performs an effect that sends requests to an authorization server, on a separate goroutine.
func (h *shell) request(self kernel.Self, act any) {
	agent := h.Agent
	switch a := act.(type) {
	case discover:
		run(self, func(ctx context.Context) any {
			site, err := agent.Discover(ctx, a.challenge)
			return discovered{a.number, site, err}
		}, func(err error) any { return discovered{a.number, nil, err} })
	case refresh:
		run(self, func(ctx context.Context) any {
			t, err := a.ask(ctx, agent)
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
		run(self, func(ctx context.Context) any { return beginLogin(ctx, agent, budget, a) }, func(err error) any {
			return begun{number: a.number, taken: true, budget: budget, err: err}
		})
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

// run runs f on a goroutine and sends its result to the actor. If f panics, it sends the result of failed instead.
func run(self kernel.Self, f func(ctx context.Context) any, failed func(error) any) {
	self.Go(func(ctx context.Context) (result any) {
		defer func() {
			if cause := recover(); cause != nil {
				self.Logger().Error("panic in a request to an authorization server", "error", cause)
				result = failed(fmt.Errorf("panic: %v", cause))
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return f(ctx)
	})
}

// beginLogin begins a login by browser or device. It repeats the discovery of the authorization server, which may have changed.
func beginLogin(ctx context.Context, agent *oauth.Agent, budget *Budget, a begin) begun {
	b := begun{number: a.number, taken: true, budget: budget}
	if !a.hasChallenge {
		a.challenge = agent.Probe(ctx)
	}
	var site *oauth.AuthServer
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

// hintOf returns what a person can do about err, or "".
func hintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint()
	}
	return oauth.Hint(err)
}
