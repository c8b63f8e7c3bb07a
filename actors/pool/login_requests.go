package pool

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	who "goblin-actor/internal/identity"
)

// maxLogins is the maximum number of logins at one server that the pool holds. The pool drops principals' logins that have
// not been used for loginIdle.
const maxLogins = 4096

var errTooManyLogins = fmt.Errorf("%d principals, the maximum, are logged in or logging in to this server; try again later", maxLogins)

type (
	// toLogin sends msg to the actor of a login, which is started if needed.
	toLogin struct {
		login message.LoginKey
		entry config.Server
		named chan<- message.LoginKey // receives the login's key; nil = not needed
		msg   any
	}
	// endLogin stops the actor of a login. The login stays in the state file.
	endLogin struct{ login message.LoginKey }
	// revokeLogin ends the login of a principal that no longer exists.
	revokeLogin struct {
		login message.LoginKey
		entry config.Server
	}
	// loginRevoked reports that a login has ended. If err is set, the authorization server may not have revoked it.
	loginRevoked struct {
		login message.LoginKey
		err   error
	}
	// revokeDue tries again to end a login whose record could not be emptied.
	revokeDue struct{ login message.LoginKey }
	// refuseLogin refuses a request to log in or out.
	refuseLogin struct {
		want message.RequestLogin
		err  error
	}
)

// entry returns the mcpServers entry with that name, for its logins: the server itself or a member of the group. It returns nil if
// there is none that runs.
func (s *state) entry(name string) *config.Server { return findEntry(&s.server, name) }

// requestLogin passes a request to log in or out on to the actor of the login, or refuses it. The login is the
// principal's own or, if the server or the request calls for it, the shared one. Only operators may begin or end the
// shared one.
func (s *state) requestLogin(m message.RequestLogin, out []kernel.Effect) []kernel.Effect {
	entry, principal := s.entry(m.Entry), who.Of(m.Who)
	if entry == nil || !entry.LogsIn() || s.fault != "" {
		return append(out, kernel.Act(refuseLogin{m, message.ErrNoLogins}))
	}
	key := message.LoginKey{Entry: entry.Name}
	if !m.Catalog {
		key.Lane = entry.LaneOf(who.HolderOf(principal))
	}
	if key.Lane == "" && !principal.Operates() {
		return append(out, kernel.Act(refuseLogin{m, message.ErrLoginNotYours}))
	}
	if len(s.logins.byKey) >= maxLogins && s.logins.byKey[key] == nil {
		return append(out, kernel.Act(refuseLogin{m, errTooManyLogins}))
	}
	s.logins.add(key, s.now).usedAt = s.now
	if key.Lane != "" {
		out = s.armSweep(out)
	}
	delete(s.logins.revoking, key) // the actor is needed again
	to := toLogin{login: key, entry: *entry, named: m.Named}
	if m.Begin != nil {
		begin := *m.Begin
		begin.Who = who.HolderOf(principal)
		to.msg = begin
	} else {
		to.msg = *m.End
	}
	return append(out, kernel.Act(to))
}

// toLogin sends a message to the actor of a login. If the gateway does not log in to servers, it abandons the message.
func (p *pool) toLogin(self kernel.Self, a toLogin) {
	if p.Logins == nil {
		if m, ok := a.msg.(kernel.Abandoner); ok {
			m.Abandon(kernel.NotRunning)
		}
		return
	}
	if a.named != nil {
		a.named <- a.login
	}
	p.loginActor(self, a.entry, a.login).Actor.Tell(a.msg)
}

// stopLoginOf stops the login actor of a connection that is gone, if the login is a principal's own and nothing else
// uses it.
func (s *state) stopLoginOf(gone *connection, out []kernel.Effect) []kernel.Effect {
	if key, uses := s.loginOf(gone); uses && key.Lane != "" {
		return s.stopUnusedLogin(key, out)
	}
	return out
}

// stopUnusedLogin stops the actor of a lane's login, unless something still uses the login.
func (s *state) stopUnusedLogin(key message.LoginKey, out []kernel.Effect) []kernel.Effect {
	if s.logins.revoking[key] {
		return out // its actor still has to revoke it at the authorization server
	}
	for _, conn := range s.replicas.connections {
		if other, _ := s.loginOf(conn); other == key {
			return out
		}
	}
	for _, w := range s.logins.waiting {
		if w.login == key {
			return out
		}
	}
	delete(s.logins.byKey, key)
	return append(out, kernel.Act(endLogin{key}))
}

// expireLogins stops the actors of lanes' logins that have no connection and have not been used for loginIdle, such as
// the login of a user who logged in and made no call. It returns when the next one may be due; zero = never.
func (s *state) expireLogins(now time.Time, out []kernel.Effect) (_ []kernel.Effect, next time.Time) {
	used := map[message.LoginKey]bool{}
	for _, conn := range s.replicas.connections {
		key, _ := s.loginOf(conn)
		used[key] = true
	}
	for _, w := range s.logins.waiting {
		used[w.login] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.logins.byKey), message.LoginKey.Compare) {
		if key.Lane == "" || s.logins.revoking[key] {
			continue
		}
		until := s.logins.byKey[key].usedAt.Add(loginIdle)
		if used[key] {
			until = now.Add(loginIdle)
		} else if !now.Before(until) {
			out = s.stopUnusedLogin(key, out)
			continue
		}
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return out, next
}

// endLogin stops the actor of a login.
func (p *pool) endLogin(self kernel.Self, a endLogin) {
	if l, known := p.known[a.login]; known {
		delete(p.known, a.login)
		self.StopChild(l.Actor)
	}
}
