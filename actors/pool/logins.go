package pool

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/upstream"
)

// logins holds the logins at a server, and the calls that wait for one.
type logins struct {
	byKey     map[message.LoginKey]*login
	revoking  map[message.LoginKey]bool // logins that are being revoked
	waiting   map[message.CallRef]*loginWaiter
	announced loginNeed                     // last sent to the registry
	url       func(message.LoginKey) string // the page to log in at; returns "" if there is none
}

func newLogins(url func(message.LoginKey) string) logins {
	return logins{byKey: map[message.LoginKey]*login{}, revoking: map[message.LoginKey]bool{}, waiting: map[message.CallRef]*loginWaiter{}, url: url}
}

// add returns the login of a key, and creates it if needed.
func (l *logins) add(key message.LoginKey, now time.Time) *login {
	known := l.byKey[key]
	if known == nil {
		known = &login{phase: message.LoginNone, usedAt: now}
		l.byKey[key] = known
	}
	return known
}

// waiters returns the calls that wait for a login, in order.
func (l *logins) waiters() []message.CallRef {
	return slices.SortedFunc(maps.Keys(l.waiting), message.CallRef.Compare)
}

// login is one login at the server, for one entry and one lane.
type login struct {
	phase  message.LoginPhase
	reason string    // why a login is needed
	logins uint64    // number of times it has become present, or has been renewed after the server refused it
	usedAt time.Time // when a client last tried to begin, finish or end it
}

// loginOf returns the login that a connection uses, or false if the gateway does not log in there.
func (s *state) loginOf(conn *connection) (key message.LoginKey, uses bool) {
	entry, _, runs := s.server.Replica(conn.replica)
	if !runs || !entry.LogsIn() {
		return key, false
	}
	key.Entry = entry.Name
	if conn.tenant != nil {
		key.Lane = conn.tenant.Lane
	}
	return key, true
}

// usesClientCredentials reports whether the login uses client credentials, so that only the gateway can log in.
func (s *state) usesClientCredentials(key message.LoginKey) bool {
	entry := s.entry(key.Entry)
	return entry != nil && entry.Auth.UsesClientCredentials(key.Lane)
}

// loginUnavailable reports whether the login cannot be read or renewed now, so that logging in does not help.
func (s *state) loginUnavailable(key message.LoginKey) bool {
	l := s.logins.byKey[key]
	return l != nil && l.phase == message.LoginUnavailable
}

// loginChanged makes the connections that use the login try it or give it up, and continues the calls that waited for
// it.
func (s *state) loginChanged(now time.Time, m message.LoginChanged, out []kernel.Effect) []kernel.Effect {
	l := s.logins.add(m.Login, s.now)
	was := l.phase
	l.phase, l.reason = m.Phase, m.Reason
	if m.Phase == message.LoginPresent {
		l.logins++
	}
	if m.Login.Lane != "" {
		out = s.armSweep(out)
	}
	for _, conn := range s.replicas.connections {
		if key, uses := s.loginOf(conn); !uses || key != m.Login || conn.leaving {
			continue
		}
		switch {
		case m.Phase == message.LoginPresent && conn.phase == message.Ready: // the login may grant more scopes now
			out = s.resumeLoginWaiters(now, conn, out)
		case m.Phase == message.LoginPresent:
			out = s.useLogin(conn, l, out)
		case m.Phase == message.LoginNone && (was == message.LoginPresent || was == message.LoginUnavailable):
			out = append(out, kernel.Tell(conn.ref, message.LoggedOut{Reason: m.Reason}))
		}
	}
	return s.announceLoginNeed(out)
}

// useLogin makes a connection that needs a login retry with login l, if l is present. A login that the server has refused
// is tried again only after it has been renewed. If an attempt is in progress, it may already use the new login, or will
// need it later. In both cases it counts as the first attempt with that login.
func (*state) useLogin(conn *connection, l *login, out []kernel.Effect) []kernel.Effect {
	switch conn.phase {
	case message.Connecting, message.Handshaking, message.Syncing:
		conn.attempts.failing = false
	}
	if conn.phase != message.NeedsLogin || l.phase != message.LoginPresent || conn.loginTried >= l.logins {
		return out
	}
	conn.loginTried, conn.attempts.failing = l.logins, false
	return append(out, kernel.Tell(conn.ref, message.LoggedIn{}))
}

// retryWithLogin handles a connection that needs a login. If the login has arrived meanwhile, the connection retries.
func (s *state) retryWithLogin(conn *connection, out []kernel.Effect) []kernel.Effect {
	key, uses := s.loginOf(conn)
	if !uses {
		return out
	}
	return s.useLogin(conn, s.logins.add(key, s.now), out)
}

// stepLogins handles what users and authorization servers report about logins.
func (s *state) stepLogins(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.LoginChanged:
		return s.loginChanged(now, m, out)
	case message.ServerRequestResult:
		return s.loginAnswered(now, m, out)
	case loginDue:
		return s.loginDue(now, m, out)
	case loginPageMissing:
		return s.loginPageMissing(m, out)
	case message.RequestLogin:
		return s.requestLogin(m, out)
	case message.EndLogins:
		return s.revokeLogins(m, out)
	case loginRevoked:
		return s.loginRevoked(m, out)
	case revokeDue:
		return s.revokeDue(m, out)
	case message.LoginAnswer:
		entry := s.entry(m.Login.Entry)
		if entry == nil || s.logins.byKey[m.Login] == nil { // only a login that was begun can be finished, so clients cannot start actors by naming lanes
			m.Finish.Refuse(message.ErrNotUnderWay)
			return out
		}
		s.logins.byKey[m.Login].usedAt = now
		return append(out, kernel.Act(toLogin{login: m.Login, entry: *entry, msg: m.Finish}))
	}
	return out
}

// loginNeeded returns the connection that needs a login before it can serve the call, or nil if a login would not
// help.
func (s *state) loginNeeded(w target) *connection {
	var lacks *connection
	for _, conn := range s.replicas.connections {
		if conn.leaving || !w.allows(conn) || conn.tenant.KeyOf() != w.tenant && !conn.main {
			continue
		}
		if conn.phase == message.NeedsLogin && conn.attempts.failing && (lacks == nil || conn.tenant != nil) {
			lacks = conn
		}
	}
	return lacks
}

// hasPrincipalLogins reports whether each principal has a login of its own.
func (s *state) hasPrincipalLogins() bool { return s.server.Auth.As == "principal" }

// canAddWithoutLeader reports whether connections may be opened for a tenant although the server has no leader. This is
// so if each principal has a login of its own and a main connection waits for the shared login.
func (s *state) canAddWithoutLeader(w target) bool {
	if w.tenant == "" || !s.hasPrincipalLogins() {
		return false
	}
	for _, conn := range s.replicas.connections {
		if conn.main && !conn.leaving && conn.phase == message.NeedsLogin {
			return true
		}
	}
	return false
}

const (
	laneIdle  = 10 * time.Minute       // maximum time that a connection of a lane, or of clients with certain headers, stays open without use
	loginIdle = laneIdle + time.Minute // how long a lane's login actor runs without being used; longer than a login flow takes
)

// idleAfter returns how long a tenant's connection stays open without use.
func (s *state) idleAfter(of *message.Tenant) time.Duration {
	if of.Lane != "" || len(of.Headers) > 0 {
		return min(s.limits.SessionIdle, laneIdle)
	}
	return s.limits.SessionIdle
}

// loginHint returns what operators can do about a server that needs a login.
func (s *state) loginHint() string {
	for _, conn := range s.replicas.connections {
		if key, uses := s.loginOf(conn); uses && conn.main && conn.phase == message.NeedsLogin {
			if conn.noLogin {
				break
			}
			if s.usesClientCredentials(key) {
				return "the gateway logs in with client credentials: fix clientId and clientSecret under auth in the configuration"
			}
			return status.LoginHint + "goblin-actor login " + key.Entry
		}
	}
	return "the server requires credentials: set its headers in the configuration"
}

// credentials returns the credentials of the login that a connection uses, or nil if it uses none.
func (p *pool) credentials(self kernel.Self, a spawn) upstream.Credentials {
	if p.Logins == nil || a.login.Entry == "" {
		return nil
	}
	return p.loginActor(self, a.entry, a.login).Credentials
}

// loginActor returns the actor of a login, and starts it if needed.
func (p *pool) loginActor(self kernel.Self, entry config.Server, key message.LoginKey) Login {
	l, known := p.known[key]
	if !known {
		l = p.Logins(self, entry, key)
		p.known[key] = l
	}
	return l
}

// loginNeed says whether the server's catalog is unknown because a login is missing.
type loginNeed uint8

const (
	needsNothing loginNeed = iota // the catalog is known, or unknown for another reason
	needsLogin                    // a user has to log in
	needsAttempt                  // a user has logged in, and the first attempt since then is in progress
)

// currentLoginNeed returns the current need, and the instructions for clients, or nil if no login is missing.
func (s *state) currentLoginNeed() (l loginNeed, instructions *catalog.Login) {
	if s.catalog.info != nil {
		return needsNothing, nil
	}
	for _, conn := range s.replicas.connections {
		key, uses := s.loginOf(conn)
		if !uses || !conn.main || conn.leaving {
			continue
		}
		switch {
		case conn.triesLogin() && s.logins.byKey[key] != nil && s.logins.byKey[key].phase == message.LoginPresent:
			l = needsAttempt
		case conn.phase == message.NeedsLogin && l == needsNothing:
			l = needsLogin
		default:
			continue
		}
		where := s.logins.url
		instructions = &catalog.Login{Command: "goblin-actor login " + key.Entry, URL: func() string { return where(key) }, Done: l == needsAttempt}
		if s.usesClientCredentials(key) {
			instructions.Command, instructions.URL = "", func() string { return "" }
		}
	}
	return l, instructions
}

// triesLogin reports whether a connection is in its first attempt since its login became present.
func (conn *connection) triesLogin() bool {
	switch conn.phase {
	case message.NeedsLogin, message.Connecting, message.Handshaking, message.Syncing:
		return !conn.attempts.failing
	}
	return false
}

// announceLoginNeed announces the server again if its login need has changed.
func (s *state) announceLoginNeed(out []kernel.Effect) []kernel.Effect {
	was := s.logins.announced
	if l, _ := s.currentLoginNeed(); l == was {
		return out
	}
	out = s.announce(out)
	if was == needsAttempt {
		out = s.loginDecided(out)
	}
	return out
}
