package pool

import (
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// login is one login at the server as its pool sees it: of an entry, and of one lane.
type login struct {
	phase    message.LoginPhase
	reason   string    // why it is needed
	renewals uint64    // how often it has become present
	wanted   time.Time // when somebody has asked for it last: to begin, to finish or to end it
}

// loginOf names the login that a connection uses; false = it uses none of ours.
func (s *state) loginOf(sl *slot) (key message.LoginKey, uses bool) {
	entry, _, runs := s.server.Replica(sl.replica)
	if !runs || !entry.LogsIn() {
		return key, false
	}
	key.Entry = entry.Name
	if sl.tenant != nil {
		key.Lane = sl.tenant.Lane
	}
	return key, true
}

// robot reports whether nobody can log in there but the gateway, by client credentials.
func (s *state) robot(key message.LoginKey) bool {
	entry := s.entry(key.Entry)
	return entry != nil && entry.Auth.Robot(key.Lane)
}

// loginAt is what is known of a login.
func (s *state) loginAt(key message.LoginKey) *login {
	l := s.logins[key]
	if l == nil {
		l = &login{phase: message.LoginNone, wanted: s.now}
		s.logins[key] = l
	}
	return l
}

// loginChanged has the connections begin or end that use the login.
func (s *state) loginChanged(now time.Time, m message.LoginChanged, out []kernel.Effect) []kernel.Effect {
	l := s.loginAt(m.Login)
	was := l.phase
	l.phase, l.reason = m.Phase, m.Reason
	if m.Phase == message.LoginPresent {
		l.renewals++
	}
	if m.Login.Lane != "" {
		out = s.tend(out)
	}
	for _, sl := range s.slots {
		if key, uses := s.loginOf(sl); !uses || key != m.Login || sl.leaving {
			continue
		}
		switch {
		case m.Phase == message.LoginPresent && sl.phase == message.Ready: // it reaches further now
			out = s.resumeLogins(now, sl, out)
		case m.Phase == message.LoginPresent:
			out = s.useLogin(sl, l, out)
		case m.Phase == message.LoginNone && was == message.LoginPresent:
			out = append(out, kernel.Tell(sl.ref, message.LoggedOut{Reason: m.Reason}))
		}
	}
	return s.announceLocked(out)
}

// useLogin has a connection that wants a login use the one that there is. One that the server has refused is not tried again: each time it
// is renewed it gets one chance. An attempt that is under way may take it along, or comes back for it: it is the first with that login.
func (*state) useLogin(sl *slot, l *login, out []kernel.Effect) []kernel.Effect {
	switch sl.phase {
	case message.Connecting, message.Handshaking, message.Syncing:
		sl.failing = false
	}
	if sl.phase != message.NeedsLogin || l.phase != message.LoginPresent || sl.renewal >= l.renewals {
		return out
	}
	sl.renewal, sl.failing = l.renewals, false
	return append(out, kernel.Tell(sl.ref, message.LoggedIn{}))
}

// wantsLogin: a connection has found out that it needs one. It may have come meanwhile.
func (s *state) wantsLogin(sl *slot, out []kernel.Effect) []kernel.Effect {
	key, uses := s.loginOf(sl)
	if !uses {
		return out
	}
	return s.useLogin(sl, s.loginAt(key), out)
}

// ofLogins handles what is about logins.
func (s *state) ofLogins(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.LoginChanged:
		return s.loginChanged(now, m, out)
	case message.ServerRequestResult:
		return s.loginAnswered(now, m, out)
	case loginDue:
		return s.loginDue(now, m, out)
	case loginUnasked:
		return s.loginUnasked(m, out)
	case message.RequestLogin:
		return s.wantLogin(m, out)
	case message.EndLogins:
		return s.revokeLogins(m, out)
	case loginRevoked:
		return s.loginRevoked(m, out)
	case message.LoginAnswer:
		entry := s.entry(m.Login.Entry)
		if entry == nil || s.logins[m.Login] == nil { // whoever begins one is known: nobody has actors made by naming lanes
			m.Finish.Refuse(message.ErrNotUnderWay)
			return out
		}
		s.logins[m.Login].wanted = now
		return append(out, kernel.Act(toLogin{login: m.Login, entry: *entry, msg: m.Finish}))
	}
	return out
}

// lacksLogin is the connection for which a call would have to log in; nil = that is not what is missing.
func (s *state) lacksLogin(w wanted) *slot {
	var lacks *slot
	for _, sl := range s.slots {
		if sl.leaving || !w.replicaIs(sl) || sl.tenant.KeyOf() != w.tenant && !sl.main {
			continue
		}
		if sl.phase == message.NeedsLogin && sl.failing && (lacks == nil || sl.tenant != nil) {
			lacks = sl
		}
	}
	return lacks
}

// hasLanes reports whether each principal has a login of its own.
func (s *state) hasLanes() bool { return s.server.Auth.As == "principal" }

// mayGrowWithout reports whether connections may be made for a tenant although none carries the catalog: it is remembered, and waits for
// another login.
func (s *state) mayGrowWithout(w wanted) bool {
	if w.tenant == "" || !s.hasLanes() {
		return false
	}
	for _, sl := range s.slots {
		if sl.main && !sl.leaving && sl.phase == message.NeedsLogin {
			return true
		}
	}
	return false
}

const (
	laneIdle  = 10 * time.Minute       // how long the connections of a lane stay without use
	loginIdle = laneIdle + time.Minute // how long its login stays known without any: one that is under way is over by then
)

// idleAfter is how long a tenant's connection stays without use.
func (s *state) idleAfter(of *message.Tenant) time.Duration {
	if of.Lane != "" || len(of.Headers) > 0 {
		return min(s.limits.SessionIdle, laneIdle)
	}
	return s.limits.SessionIdle
}

// loginHint says what to do about a server that wants a login.
func (s *state) loginHint() string {
	for _, sl := range s.slots {
		if key, uses := s.loginOf(sl); uses && sl.main && sl.phase == message.NeedsLogin {
			if sl.noLogin {
				break
			}
			if s.robot(key) {
				return "the gateway logs in by itself: mend clientId and clientSecret in the configuration, under auth"
			}
			return "log in: goblin-actor login " + key.Entry
		}
	}
	return "the server wants credentials: set its headers in the configuration"
}

// credentials are those of the login that a connection is to use; nil = it uses none of ours.
func (p *pool) credentials(self kernel.Self, a spawn) upstream.Credentials {
	if p.Logins == nil || a.login.Entry == "" {
		return nil
	}
	return p.loginActor(self, a.entry, a.login).Credentials
}

// loginActor is the actor of a login, which is started when it is first wanted.
func (p *pool) loginActor(self kernel.Self, entry config.Server, key message.LoginKey) Login {
	l, known := p.known[key]
	if !known {
		l = p.Logins(self, entry, key)
		p.known[key] = l
	}
	return l
}

// lock is what a login has to do with it that nobody knows what the server has.
type lock uint8

const (
	lockNone      lock = iota // nothing: it is known, or something else is missing
	lockWants                 // somebody has to log in
	lockUnlocking             // somebody has, and the first attempt since is under way
)

// lockedBy finds the lock, and what clients are told of it; nil = there is none.
func (s *state) lockedBy() (l lock, told *catalog.Login) {
	if s.info != nil {
		return lockNone, nil
	}
	for _, sl := range s.slots {
		key, uses := s.loginOf(sl)
		if !uses || !sl.main || sl.leaving {
			continue
		}
		switch {
		case sl.tries() && s.logins[key] != nil && s.logins[key].phase == message.LoginPresent:
			l = lockUnlocking
		case sl.phase == message.NeedsLogin && l == lockNone:
			l = lockWants
		default:
			continue
		}
		where := s.loginURL
		told = &catalog.Login{Command: "goblin-actor login " + key.Entry, URL: func() string { return where(key) }, Done: l == lockUnlocking}
		if s.robot(key) {
			told.Command, told.URL = "", func() string { return "" }
		}
	}
	return l, told
}

// tries reports whether a connection is in its first attempt since its login has come.
func (sl *slot) tries() bool {
	switch sl.phase {
	case message.NeedsLogin, message.Connecting, message.Handshaking, message.Syncing:
		return !sl.failing
	}
	return false
}

// announceLocked announces that a login is what is missing, or has come, or that it is something else.
func (s *state) announceLocked(out []kernel.Effect) []kernel.Effect {
	was := s.lock
	if l, _ := s.lockedBy(); l == was {
		return out
	}
	out = s.announce(out)
	if was == lockUnlocking {
		out = s.unlocked(out)
	}
	return out
}
