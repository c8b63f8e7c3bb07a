package actors

import (
	"context"
	"errors"
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
	"goblin-actor/internal/policy"
)

// BeginLogin implements login.Gateway.
func (g *Gateway) BeginLogin(ctx context.Context, w login.Wish) (login.Begun, error) {
	reply, named := make(chan message.LoginStarted, 1), make(chan message.LoginKey, 1)
	g.self.Tell(message.RequestLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, Named: named,
		Begin: &message.BeginLogin{RedirectURI: w.Redirect, Device: w.Device, Reply: reply}})
	select {
	case m := <-reply:
		if m.Err != nil {
			err := loginError(m.Err, m.Hint)
			g.recordLogin(audit.EventLogin, w.Who, w.Server, err) // that of one who may not, too
			return login.Begun{}, err
		}
		return login.Begun{Login: login.Key(<-named), URL: m.URL, Complete: m.Complete, State: m.State, UserCode: m.UserCode, Expires: m.Expires}, nil
	case <-ctx.Done():
		return login.Begun{}, ctx.Err()
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
		go func() { // the login may come about yet; it ends in its time, and is answered then or when the gateway goes
			record((<-reply).Err)
		}()
		return ctx.Err()
	}
}

// Logout implements login.Gateway.
func (g *Gateway) Logout(ctx context.Context, w login.Wish) error {
	reply, forgot := make(chan message.LoginFinished, 1), make(chan struct{}, 1)
	g.self.Tell(message.RequestLogin{Entry: w.Server, Who: w.Who, Catalog: w.Catalog, End: &message.EndLogin{Reply: reply, Forgot: forgot}})
	record := func(err error) { g.recordLogin(audit.EventLogout, w.Who, w.Server, err) }
	select {
	case m := <-reply:
		err := loginError(m.Err, m.Hint)
		record(err)
		return err
	case <-ctx.Done():
		go func() { // it is revoked as well as can be, which has a bound; then, or when the gateway goes, there is an answer
			m := <-reply
			if record(m.Err); m.Err != nil {
				g.log.Warn("a login was given up, but its authorization server did not hear of it", "who", identity.IDOf(w.Who), "entry", w.Server, "err", m.Err)
			}
		}()
	}
	select {
	case <-forgot:
		return login.ErrUnheard
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
	for i := range s.config.Servers {
		server := &s.config.Servers[i]
		named := server.Name == entry && len(server.Members) == 0
		if named = named || slices.ContainsFunc(server.Members, func(member config.Server) bool { return member.Name == entry }); !named {
			continue
		}
		if want, is := m.(message.RequestLogin); is && !s.isThere(server, want.Who) {
			break
		}
		return s.toPool(server.Name, m, out)
	}
	return append(out, kernel.Act(abandonLogin{m}))
}

// isThere reports whether a server is one that there is for whoever asks: it is nobody's to log in at what his roles or his projects keep from him, nor
// to learn that it is there. There is none for who was revoked since he has asked.
func (s *state) isThere(server *config.Server, who *identity.Principal) bool {
	if _, known := s.changed.Of(who); !known {
		return false
	}
	who = identity.Of(who)
	rules := policy.Of(who, s.policy)
	if who.Operates() || who.Projects == nil && rules.Covers(who.Rights, "", server.Name) {
		return true
	}
	return slices.ContainsFunc(s.config.Projects, func(p config.Project) bool {
		return who.May(p.Name) && catalog.Holds(p, *server) && rules.Covers(who.Rights, p.Name, server.Name)
	})
}

func (s *state) toPool(server string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	ref, runs := s.pools[server]
	if !runs {
		return append(out, kernel.Act(abandonLogin{m}))
	}
	return append(out, kernel.Tell(ref, m))
}

// endLogins finds the logins of who is nobody any more, and has their pools end them. Where no server runs that could, they are
// forgotten only: nobody says any more to whom they could be sent.
func (s *state) endLogins(m message.EndLogins, out []kernel.Effect) []kernel.Effect {
	switch {
	case !s.serves: // what is remembered may not be known yet
		if s.ending == nil {
			s.ending = map[string]bool{}
		}
		maps.Copy(s.ending, m.Who)
		return out
	case m.Kept == nil:
		return append(out, kernel.Act(findLogins{m.Who}))
	}
	for _, key := range m.Kept {
		if !s.logsIn(key) {
			name := loginName(key)
			out = append(out, kernel.Act(rememberToken{key: name}), kernel.Tell(s.store, message.RememberToken{Key: name}))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		out = append(out, kernel.Tell(s.pools[name], m))
	}
	return out
}

// logsIn reports whether a server runs that has such a login.
func (s *state) logsIn(key message.LoginKey) bool {
	for _, server := range s.config.Servers {
		if _, runs := s.pools[server.Name]; !runs || server.Fault != "" {
			continue
		}
		if server.Name == key.Entry && len(server.Members) == 0 {
			return server.LogsIn()
		}
		for _, member := range server.Members {
			if member.Name == key.Entry {
				return member.LogsIn()
			}
		}
	}
	return false
}

// endInherited ends the logins in the state file of whoever had the name of somebody who is there before: the key was made anew while no gateway
// ran. Those of names that nobody has here may be another gateway's.
func (s *state) endInherited(out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.Act(findInherited{s.changed.Newest}))
}

type (
	// findLogins looks up which logins of theirs are remembered.
	findLogins struct{ who map[string]bool }
	// findInherited looks up whose logins are remembered that those who are there have not left.
	findInherited struct {
		newest map[string]*identity.Principal
	}
)

// abandonLogin answers whoever wants the login of a server that is not there.
type abandonLogin struct{ msg kernel.Abandoner }

func (a abandonLogin) do() {
	if want, is := a.msg.(message.RequestLogin); is {
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
	return g.logins.openLogin(self.Reference(), g.Secrets, g.recordUnawaited, g.Log)
}
