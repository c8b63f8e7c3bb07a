package token

import (
	"log/slog"
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// settings do not change during the life of the actor.
type settings struct {
	self, store, owner kernel.Reference
	login              message.LoginKey
	key, server        string // key of the login in the store; URL of the server
	config             oauth.Config
	clientCredentials  bool // the gateway logs in with client credentials
	rng                *rand.Rand
}

// state is the actor's entire state. Only step modifies it.
type state struct {
	settings
	stored   message.Token // stored login until it has been decoded
	phase    phase
	record   record
	current  *current // the token that connections send; nil if there is none
	secrets  []string // secrets of record, as reported last; never modified
	reported message.LoginPhase
	requests counter // numbers the requests, so that results can be matched

	renewal  renewal
	demand   demand
	refusals refusals
	logins   logins
	logouts  logouts
	share    *share // nil = this gateway alone has the login
}

// counter numbers requests from 1.
type counter uint64

func (c *counter) next() uint64 {
	*c++
	return uint64(*c)
}

// demand holds what the server required when it refused requests.
type demand struct {
	challenge    oauth.Challenge // the newest challenge
	hasChallenge bool            // challenge is set
	scopes       []string        // required by the server, but missing from a person's login
	stepUps      int             // how often a token with more scopes was requested
}

// Messages of the actor to itself. number identifies the request that they answer.
type (
	discovered struct {
		number uint64
		site   *oauth.AuthServer
		err    error
	}
	granted struct {
		number uint64
		token  oauth.Token
		err    error
	}
	begun struct {
		number uint64
		taken  bool // counted in budget
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
	renewalDue    struct{ timer uint64 }
	storeTimedOut struct{ number uint64 }
	loginTimedOut struct{ number uint64 }
	pollDue       struct{ number uint64 }
)

// Abandon returns the login to the budget, since its actor has stopped.
func (m begun) Abandon(kernel.Reason) {
	if m.taken {
		m.budget.give(1)
	}
}

// newState returns the state of a new actor.
func newState(o Options) *state {
	return &state{
		settings: settings{
			store: o.Store, owner: o.Owner, login: o.Login, key: o.Key, server: o.Agent.Server, config: o.Agent.Config, clientCredentials: o.ClientCredentials,
			rng: rand.New(rand.NewPCG(o.Seed, 0)),
		},
		stored:  o.Stored,
		logins:  logins{pending: map[uint64]*pendingLogin{}},
		logouts: logouts{late: map[uint64]lateToken{}, pending: map[uint64]*logout{}},
		share:   newShare(o),
	}
}

// start adopts the stored login, and renews its token if that has expired. After a restart, the results of earlier
// requests are ignored. Requests are still pending then only if the handler of Stopping panicked too; they are answered
// here, since the timers and requests they wait for are lost.
func (s *state) start(now time.Time, out []kernel.Effect) []kernel.Effect {
	if len(s.stored) > 0 {
		known, ok := decode(s.stored, s.server, s.config)
		if !ok {
			out = append(out, kernel.Log(slog.LevelWarn, "stored login ignored: it belongs to another server, client or authorization server, or is damaged", "server", s.login.Entry))
		}
		s.record, s.stored = known, nil
	}
	out = s.endRequests(errRestarted, out)
	s.phase = none
	s.renewal.cancel()
	if s.share != nil {
		return s.openShare(now, out)
	}
	if s.record.Token.Access == "" {
		return out
	}
	if t := s.record.Token; s.canRenew() && !t.Expires.IsZero() && !now.Before(t.Expires) {
		return s.renew(now, out)
	}
	return s.publish(now, out)
}

// busy reports whether a renewal is in progress, or a login is being written.
func (s *state) busy() bool { return s.renewal.busy() || s.share.busy() }

// canRenew reports whether the actor can obtain a new token without a person.
func (s *state) canRenew() bool {
	return s.clientCredentials || s.record.Token.Refresh != ""
}

// report returns the login's status for operators.
func (s *state) report() message.LoginReport {
	r := message.LoginReport{Login: s.login, Phase: string(s.phase), Scopes: s.record.Token.Scopes, Expires: s.record.Token.Expires, Renewed: s.record.Token.Received, Pending: len(s.logins.pending)}
	if s.record.Site != nil {
		r.Issuer = s.record.Site.Issuer
	}
	if s.renewal.fault != nil {
		r.Fault = s.renewal.fault.Error()
	}
	return r
}

// announce reports the login's phase to the owner if it has changed. LoginPresent is reported again after a request was
// denied, since that request's caller waits until the login is present.
func (s *state) announce(p message.LoginPhase, reason string, out []kernel.Effect) []kernel.Effect {
	if s.reported == p && !(p == message.LoginPresent && s.refusals.denied) {
		return out
	}
	s.reported, s.refusals.denied = p, false
	return append(out, kernel.Tell(s.owner, message.LoginChanged{Login: s.login, Phase: p, Reason: reason}))
}
