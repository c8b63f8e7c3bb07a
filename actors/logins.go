package actors

import (
	"context"
	"errors"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/login"
)

// BeginLogin implements login.Gateway.
func (g *Gateway) BeginLogin(ctx context.Context, w login.Wish) (login.Begun, error) {
	reply := make(chan message.LoginBegun, 1)
	g.self.Tell(message.WantLogin{Who: w.Who, Catalog: w.Catalog, Begin: &message.BeginLogin{
		Login: message.LoginKey{Entry: w.Server}, Redirect: w.Redirect, Device: w.Device, Reply: reply,
	}})
	select {
	case b := <-reply:
		return login.Begun{Login: login.Key(b.Login), URL: b.URL, State: b.State, UserCode: b.UserCode, Expires: b.Expires}, loginError(b.Err)
	case <-ctx.Done():
		return login.Begun{}, ctx.Err()
	}
}

// FinishLogin implements login.Gateway.
func (g *Gateway) FinishLogin(ctx context.Context, a login.Answer) error {
	who := ""
	if a.Who != nil {
		who = a.Who.ID
	}
	reply := make(chan message.LoginDone, 1)
	g.self.Tell(message.FinishLogin{
		Login: message.LoginKey(a.Login), Who: who, State: a.State, Code: a.Code, Issuer: a.Issuer, Error: a.Error, Detail: a.Detail, Reply: reply,
	})
	return loginDone(ctx, reply)
}

// Logout implements login.Gateway.
func (g *Gateway) Logout(ctx context.Context, w login.Wish) error {
	reply := make(chan message.LoginDone, 1)
	g.self.Tell(message.WantLogin{Who: w.Who, Catalog: w.Catalog, Logout: &message.Logout{Login: message.LoginKey{Entry: w.Server}, Reply: reply}})
	return loginDone(ctx, reply)
}

func loginDone(ctx context.Context, reply <-chan message.LoginDone) error {
	select {
	case d := <-reply:
		return loginError(d.Err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func loginError(err error) error {
	switch {
	case errors.Is(err, message.ErrLoginNotYours):
		return login.ErrNotYours
	case errors.Is(err, message.ErrNoLogins):
		return login.ErrNoServer
	}
	return err
}

var _ login.Gateway = (*Gateway)(nil)

// ofLogins passes on what is about a login of an entry of mcpServers.
func (s *state) ofLogins(entry string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	for _, server := range s.config.Servers {
		if server.Name == entry && len(server.Members) == 0 {
			return s.toPool(server.Name, m, out)
		}
		for _, member := range server.Members {
			if member.Name == entry {
				return s.toPool(server.Name, m, out)
			}
		}
	}
	return append(out, kernel.Act(abandonLogin{m}))
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
