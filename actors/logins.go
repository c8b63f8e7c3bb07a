package actors

import (
	"context"
	"errors"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
)

// BeginLogin implements login.Gateway.
func (g *Gateway) BeginLogin(ctx context.Context, w login.Wish) (login.Begun, error) {
	reply, named := make(chan message.LoginStarted, 1), make(chan message.LoginKey, 1)
	g.self.Tell(message.WantLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, Named: named,
		Begin: &message.BeginLogin{RedirectURI: w.Redirect, Device: w.Device, Reply: reply}})
	select {
	case m := <-reply:
		if m.Err != nil {
			return login.Begun{}, loginError(m.Err, m.Hint)
		}
		return login.Begun{Login: login.Key(<-named), URL: m.URL, Complete: m.Complete, State: m.State, UserCode: m.UserCode, Expires: m.Expires}, nil
	case <-ctx.Done():
		return login.Begun{}, ctx.Err()
	}
}

// FinishLogin implements login.Gateway.
func (g *Gateway) FinishLogin(ctx context.Context, a login.Answer) error {
	reply := make(chan message.LoginFinished, 1)
	g.self.Tell(message.AnswerLogin{Login: message.LoginKey(a.Login), Finish: message.FinishLogin{
		Who: identity.IDOf(a.Who), State: a.State, Code: a.Code, Issuer: a.Issuer, Error: a.Error, Description: a.Detail, Reply: reply,
	}})
	err := loginFinished(ctx, reply)
	g.recordLogin(audit.EventLogin, a.Who, a.Login.Entry, err)
	return err
}

// Logout implements login.Gateway.
func (g *Gateway) Logout(ctx context.Context, w login.Wish) error {
	reply := make(chan message.LoginFinished, 1)
	g.self.Tell(message.WantLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, End: &message.EndLogin{Reply: reply}})
	err := loginFinished(ctx, reply)
	g.recordLogin(audit.EventLogout, w.Who, w.Server, err)
	return err
}

func loginFinished(ctx context.Context, reply <-chan message.LoginFinished) error {
	select {
	case m := <-reply:
		return loginError(m.Err, m.Hint)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func loginError(err error, hint string) error {
	switch {
	case errors.Is(err, message.ErrLoginNotYours):
		return login.ErrNotYours
	case errors.Is(err, message.ErrNoLogins):
		return login.ErrNoServer
	case err != nil && hint != "":
		return hintedError{err, hint}
	}
	return err
}

// hintedError is an error that knows what a person can do.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Hint() string  { return e.hint }
func (e hintedError) Unwrap() error { return e.error }

var _ login.Gateway = (*Gateway)(nil)

// ofLogins passes on what is about a login of an entry of mcpServers.
func (s *state) ofLogins(entry string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	for _, server := range s.config.Servers {
		named := server.Name == entry && len(server.Members) == 0
		if named = named || slices.ContainsFunc(server.Members, func(member config.Server) bool { return member.Name == entry }); !named {
			continue
		}
		if want, is := m.(message.WantLogin); is && !s.isThere(server.Name, want.Who) {
			break
		}
		return s.toPool(server.Name, m, out)
	}
	return append(out, kernel.Act(abandonLogin{m}))
}

// isThere reports whether a server is one that there is for whoever asks: it is nobody's to log in at what his roles keep from him, nor to learn
// that it is there.
func (s *state) isThere(server string, who *identity.Principal) bool {
	who = identity.Of(who)
	return who.Operates() || s.policy.Covers(who.Rights, server)
}

func (s *state) toPool(server string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	ref, runs := s.pools[server]
	if !runs {
		return append(out, kernel.Act(abandonLogin{m}))
	}
	return append(out, kernel.Tell(ref, m))
}

// abandonLogin answers whoever wants the login of a server that is not there.
type abandonLogin struct{ msg kernel.Abandoner }

func (a abandonLogin) do() {
	if want, is := a.msg.(message.WantLogin); is {
		want.Refuse(message.ErrNoLogins)
		return
	}
	a.msg.Abandon(kernel.Gone)
}

// rememberToken keeps what is known of a login for the next actor of it.
type rememberToken struct {
	key   string
	value message.Token
}

// loginsFor is how pools log in.
func (g *gateway) loginsFor(self kernel.Self) pool.Logins {
	if g.Logins != nil {
		return g.Logins
	}
	return g.logins.openLogin(self.Reference(), g.LoginURL, g.Log)
}
