package actors

import (
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
)

func (s *state) stepLogins(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.RequestLogin:
		return s.routeLogin(m.Entry, m, out)
	case message.LoginAnswer:
		return s.routeLogin(m.Login.Entry, m, out)
	case message.EndLogins:
		return s.endLogins(m, out)
	case message.RememberToken:
		return append(out, kernel.Act(rememberToken{m.Key, m.Value}), kernel.Tell(s.store, m))
	case message.ReadToken:
		return append(out, kernel.Tell(s.store, m))
	}
	return out
}

// routeLogin passes a message about a login to the pool of an entry of mcpServers. The entry may be a member of a group.
func (s *state) routeLogin(entry string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	for i := range s.config.Servers {
		server := &s.config.Servers[i]
		named := server.Name == entry && len(server.Members) == 0 && server.MemberOf == ""
		if named = named || slices.ContainsFunc(server.Members, func(member config.Server) bool { return member.Name == entry }); !named {
			continue
		}
		if request, is := m.(message.RequestLogin); is && !s.mayLogIn(server, request.Who) {
			break
		}
		if at := s.serverOf(entry); at != nil {
			server = at
		}
		return s.toPool(server.Name, m, out)
	}
	return append(out, kernel.Act(abandonLogin{m}))
}

// serverOf returns the server of an entry of mcpServers, also if it stands for a member of a group (config.Server.MemberOf). It returns
// nil if the entry is only part of a group.
func (s *state) serverOf(entry string) *config.Server {
	i := slices.IndexFunc(s.config.Servers, func(server config.Server) bool { return server.Name == entry && len(server.Members) == 0 })
	if i < 0 {
		return nil
	}
	return &s.config.Servers[i]
}

// mayLogIn reports whether a principal may log in to a server, and so learn that the server exists. Operators may log in to every
// server. The roles and projects of any other principal must include the server. A principal that was revoked after its request
// was admitted may not log in.
func (s *state) mayLogIn(server *config.Server, who *identity.Principal) bool {
	if _, known := s.principals.current.Of(who); !known {
		return false
	}
	who = identity.Of(who)
	rules := policy.Of(who, s.reloads.policy)
	if who.Operates() || who.Projects == nil && rules.Covers(who.Rights, "", server.Name) {
		return true
	}
	return slices.ContainsFunc(s.config.Projects, func(p config.Project) bool {
		return who.May(p.Name) && catalog.Holds(p, *server) && rules.Covers(who.Rights, p.Name, server.Name)
	})
}

// toPool passes a message to a server's pool, or abandons it if the server is not running.
func (s *state) toPool(server string, m kernel.Abandoner, out []kernel.Effect) []kernel.Effect {
	ref, runs := s.servers.pools[server]
	if !runs {
		return append(out, kernel.Act(abandonLogin{m}))
	}
	return append(out, kernel.Tell(ref, m))
}

// endLogins ends the logins of principals that no longer exist. The pools revoke them at the authorization servers.
// The login of a server that is not running or no longer logs in is only removed from the state file, because no pool
// can revoke it.
func (s *state) endLogins(m message.EndLogins, out []kernel.Effect) []kernel.Effect {
	switch {
	case !s.startup.done: // the remembered logins may not be known yet
		s.principals.postpone(m.Who)
		return out
	case m.Stored == nil:
		return append(out, kernel.Act(findLogins{m.Who}))
	}
	for _, key := range m.Stored {
		if !s.logsIn(key) {
			name := loginName(key)
			out = append(out, kernel.Act(rememberToken{key: name}), kernel.Tell(s.store, message.RememberToken{Key: name}))
		}
	}
	return s.servers.tell(m, out)
}

// logsIn reports whether the server of a login is running and configured to log in.
func (s *state) logsIn(key message.LoginKey) bool {
	if server := s.serverOf(key.Entry); server != nil {
		_, runs := s.servers.pools[server.Name]
		return runs && server.Fault == "" && server.LogsIn()
	}
	for _, server := range s.config.Servers {
		if _, runs := s.servers.pools[server.Name]; !runs || server.Fault != "" {
			continue
		}
		for _, member := range server.Members {
			if member.Name == key.Entry {
				return member.LogsIn()
			}
		}
	}
	return false
}

type (
	// findLogins looks up the remembered logins of these holders.
	findLogins struct{ who map[string]bool }
	// findInherited looks up the remembered logins that belong to earlier credentials of existing principals.
	findInherited struct {
		newest map[string]*identity.Principal
	}
)

// resealLogins seals the logins that the nodes share again, if the cluster has a new secret.
type resealLogins struct{}

// abandonLogin answers a message about a login whose server does not exist, is not running, or must not be revealed to the
// principal.
type abandonLogin struct{ msg kernel.Abandoner }

func (a abandonLogin) do() {
	if request, is := a.msg.(message.RequestLogin); is {
		request.Refuse(message.ErrNoLogins)
		return
	}
	a.msg.Abandon(kernel.NotRunning)
}

// rememberToken stores a login's token for the next token actor of that login.
type rememberToken struct {
	key   string
	value message.Token
}

// loginsFor returns the function with which pools log in to servers.
func (g *gateway) loginsFor(self kernel.Self) pool.Logins {
	if g.Options.Logins != nil {
		return g.Options.Logins
	}
	return g.logins.openLogin(self.Reference(), g.Secrets, g.recordUnawaited, g.Log)
}
