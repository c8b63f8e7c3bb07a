package actors

import (
	"context"
	"errors"

	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
	"goblin-actor/internal/status"
)

// BeginLogin implements login.Gateway.
func (g *Gateway) BeginLogin(ctx context.Context, w login.Request) (login.Started, error) {
	if !status.Aim(w.Aim).IsOf(g.started) {
		g.recordLogin(audit.EventLogin, w.Who, w.Server, login.ErrRestarted)
		return login.Started{}, login.ErrRestarted
	}
	reply, named := make(chan message.LoginStarted, 1), make(chan message.LoginKey, 1)
	g.self.Tell(message.RequestLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, Named: named,
		Begin: &message.BeginLogin{RedirectURI: w.Redirect, Device: w.Device, Reply: reply}})
	select {
	case m := <-reply:
		if m.Err != nil {
			err := loginError(m.Err, m.Hint)
			g.recordLogin(audit.EventLogin, w.Who, w.Server, err) // a success is recorded when the login has ended
			return login.Started{}, err
		}
		return login.Started{Login: login.Key(<-named), URL: m.URL, Complete: m.Complete, State: m.State, UserCode: m.UserCode, Expires: m.Expires}, nil
	case <-ctx.Done():
		return login.Started{}, ctx.Err()
	}
}

// FinishLogin implements login.Gateway.
func (g *Gateway) FinishLogin(ctx context.Context, a login.Answer) error {
	reply := make(chan message.LoginFinished, 1)
	g.self.Tell(message.LoginAnswer{Login: message.LoginKey(a.Login), Finish: message.FinishLogin{
		Who: identity.HolderOf(a.Who), State: a.State, Code: a.Code, Issuer: a.Issuer, Error: a.Error, Description: a.Detail, Reply: reply,
	}})
	record := func(err error) { g.recordLogin(audit.EventLogin, a.Who, a.Login.Entry, err) }
	select {
	case m := <-reply:
		err := loginError(m.Err, m.Hint)
		record(err)
		return err
	case <-ctx.Done():
		go func() { // the login may still complete; the reply comes at the latest when it times out or the gateway stops
			record((<-reply).Err)
		}()
		return ctx.Err()
	}
}

// Logout implements login.Gateway.
func (g *Gateway) Logout(ctx context.Context, w login.Request) error {
	if !status.Aim(w.Aim).IsOf(g.started) {
		g.recordLogin(audit.EventLogout, w.Who, w.Server, login.ErrRestarted)
		return login.ErrRestarted
	}
	reply, forgot := make(chan message.LoginFinished, 1), make(chan struct{}, 1)
	g.self.Tell(message.RequestLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, End: &message.EndLogin{Reply: reply, Forgot: forgot}})
	record := func(err error) { g.recordLogin(audit.EventLogout, w.Who, w.Server, err) }
	select {
	case m := <-reply:
		err := loginError(m.Err, m.Hint)
		record(err)
		return err
	case <-ctx.Done():
		go func() { // the reply comes at the latest when the revocation times out or the gateway stops
			m := <-reply
			if record(m.Err); m.Err != nil {
				g.log.Warn("login removed, but the authorization server may not have revoked it", "who", identity.IDOf(w.Who), "entry", w.Server, "err", m.Err)
			}
		}()
	}
	select {
	case <-forgot:
		return login.ErrRevocationPending
	default:
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

// hintedError is an error with a hint for the user.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Hint() string  { return e.hint }
func (e hintedError) Unwrap() error { return e.error }

var _ login.Gateway = (*Gateway)(nil)
