package pool

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	principals "goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// behindOwnLogins returns a server at which each principal logs in for itself.
func behindOwnLogins(t *testing.T) *world {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "principal", MaxBackends: 8, Auth: config.ServerAuth{Type: "auto", As: "principal"}, Queue: queue}, 1)
	w.s.limits.SessionIdle = time.Hour
	return w
}

// laneOf returns the key of a principal's own login.
func laneOf(who string) message.LoginKey { return message.LoginKey{Entry: "fake", Lane: who} }

// askAs returns a call of a principal whose client supports URL elicitation.
func askAs(seq uint64, who string) message.Dispatch {
	m := ask(seq)
	m.Request.Tenant = &message.Tenant{Key: who, Who: who, Lane: who, Isolation: "principal"}
	return m
}

// Every principal may log in for itself. Only an operator may begin or end the login that all share.
func TestLoginPermissions(t *testing.T) {
	user := &principals.Principal{ID: "key:user", Rights: "some"}
	operator := &principals.Principal{ID: "key:operator", Admin: principals.AdminAct, Rights: "all"}
	for name, c := range map[string]struct {
		server  func(*testing.T) *world
		who     *principals.Principal
		catalog bool
		want    message.LoginKey
		err     error
	}{
		"user, shared login":           {behindLogin, user, false, message.LoginKey{}, message.ErrLoginNotYours},
		"operator, shared login":       {behindLogin, operator, false, theLogin, nil},
		"local user, shared login":     {behindLogin, nil, false, theLogin, nil},
		"user, own login":              {behindOwnLogins, user, false, laneOf("key:user"), nil},
		"operator, own login":          {behindOwnLogins, operator, false, laneOf("key:operator"), nil},
		"user, login of the catalog":   {behindOwnLogins, user, true, message.LoginKey{}, message.ErrLoginNotYours},
		"operator, login of a catalog": {behindOwnLogins, operator, true, theLogin, nil},
		"server without logins at all": {func(t *testing.T) *world { return newWorld(t, config.Server{Queue: queue}, 1) }, operator, false, message.LoginKey{}, message.ErrNoLogins},
		"server that is misconfigured": {func(t *testing.T) *world { w := behindLogin(t); w.s.fault = "no variable X"; return w }, operator, false, message.LoginKey{}, message.ErrNoLogins},
		"operator, at maxLogins":       {full, operator, false, message.LoginKey{}, errTooManyLogins},
	} {
		w := c.server(t)
		acts, _ := w.effects(message.RequestLogin{Entry: "fake", Who: c.who, Catalog: c.catalog, Begin: &message.BeginLogin{}})
		to, _ := has[toLogin](acts)
		refused, _ := has[refuseLogin](acts)
		if to.login != c.want || refused.err != c.err {
			t.Errorf("%s: login %v, refused with %v; want %v, %v", name, to.login, refused.err, c.want, c.err)
		}
		if begun, is := to.msg.(message.BeginLogin); is && begun.Who != principals.HolderOf(c.who) {
			t.Errorf("%s: the login begins for %q", name, begun.Who)
		}
	}
}

// full returns a server at which maxLogins principals have logged in.
func full(t *testing.T) *world {
	w := behindOwnLogins(t)
	for i := range maxLogins {
		w.s.logins.byKey[laneOf(strings.Repeat("x", i+1))] = &login{}
	}
	return w
}

// At maxLogins, a principal that has a login can still use it.
func TestLoginsAreLimited(t *testing.T) {
	w := full(t)
	delete(w.s.logins.byKey, laneOf("x"))
	begin := message.RequestLogin{Entry: "fake", Who: &principals.Principal{ID: "key:a", Rights: "some"}, Begin: &message.BeginLogin{}}
	for range 2 {
		if acts, _ := w.effects(begin); len(acts) == 0 || len(w.s.logins.byKey) != maxLogins {
			t.Fatalf("%d logins and %d acts, want %d and at least one", len(w.s.logins.byKey), len(acts), maxLogins)
		} else if r, refused := has[refuseLogin](acts); refused {
			t.Errorf("refused: %v", r.err)
		}
	}
}

// A principal's login without a connection starts the timer that later stops unused logins. The shared login does not.
func TestLoginsWithoutConnectionsAreChecked(t *testing.T) {
	for key, want := range map[message.LoginKey]int{laneOf("key:a"): 1, theLogin: 0} {
		w := behindOwnLogins(t)
		checks := 0
		for _, timer := range w.wakeups(message.LoginChanged{Login: key, Phase: message.LoginPresent}) {
			if timer.Msg == any(tenantsDue{}) {
				checks++
			}
		}
		if checks != want {
			t.Errorf("login %v: %d timers, want %d", key, checks, want)
		}
	}
}

// The login of a revoked principal ends even if it was not stored. The shared login stays.
func TestUnstoredLoginOfARevokedPrincipalEnds(t *testing.T) {
	w := behindOwnLogins(t)
	for _, key := range []message.LoginKey{laneOf("key:a"), laneOf("key:b"), theLogin} {
		w.step(message.LoginChanged{Login: key, Phase: message.LoginPresent})
	}
	acts, _ := w.effects(message.EndLogins{Who: map[string]bool{"key:a": true, "": true}})
	if a, is := has[revokeLogin](acts); len(acts) != 1 || !is || a.login != laneOf("key:a") {
		t.Errorf("acts %v, want the login of key:a to be revoked", acts)
	}
}

// The user of a call is asked to log in if the principal's own connection needs a login. Other principals' connections
// do not matter.
func TestPrincipalIsAskedForItsOwnLogin(t *testing.T) {
	w := behindOwnLogins(t)
	w.phase(0, message.Ready)
	w.step(askAs(1, "key:a"))
	w.step(askAs(2, "key:b"))
	w.spawned()
	asked := func(msg any) (logins []message.LoginKey) {
		acts, _ := w.effects(msg)
		for _, act := range acts {
			if a, is := act.(askLogin); is {
				logins = append(logins, a.login)
			}
		}
		return logins
	}
	needs := message.BackendChanged{Backend: w.backends[1], Phase: message.NeedsLogin}
	if got := asked(needs); len(got) != 1 || got[0] != laneOf("key:a") {
		t.Errorf("asked for %v, want the login of key:a", got)
	}
	if got := asked(askAs(3, "key:b")); len(got) != 0 {
		t.Errorf("key:b was asked for %v", got)
	}
	if got := asked(askAs(4, "key:a")); len(got) != 1 || got[0] != laneOf("key:a") {
		t.Errorf("the next call was asked for %v, want the login of key:a", got)
	}
	w.phase(2, message.Ready)
	if _, sent := w.sent[2]; !sent {
		t.Error("the call of key:b was not sent")
	}
}

// If the login arrives while the user is still asked, the question is withdrawn. After the answer there is nothing to
// withdraw.
func TestQuestionIsWithdrawnAfterTheLogin(t *testing.T) {
	for _, answered := range []bool{false, true} {
		w := behindLogin(t)
		w.phase(0, message.NeedsLogin)
		acts, _ := w.effects(ask(1))
		asked, _ := has[askLogin](acts)
		if answered {
			w.step(message.ServerRequestResult{Key: asked.key, Result: []byte(`{"action":"accept"}`)})
		}
		w.step(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent})
		_, told := w.effects(message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
		if m, withdrawn := has[message.ServerRequestCanceled](told); withdrawn == answered || withdrawn && (m.Key != asked.key || m.Seq != 1) {
			t.Errorf("answered %v: withdrawn %v (%+v)", answered, withdrawn, m)
		}
		if _, sent := has[message.Send](told); !sent {
			t.Errorf("answered %v: the call was not sent", answered)
		}
	}
}

// Keys of login questions and of requests to servers are never zero, and no two are equal.
func TestKeysAreUnique(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.Ready)
	keys := map[uint64]bool{0: true}
	for seq := range uint64(2) {
		refused := message.NotExecuted{Backend: w.backends[0], Call: message.CallRef{Seq: seq}, Request: ask(seq).Request, Login: &message.LoginRefused{Scope: true}}
		w.step(ask(seq))
		acts, _ := w.effects(refused)
		asked, _ := has[askLogin](acts)
		queries, _ := told[message.Query, spawn](w, message.SubscribeURI{Seq: 10 + seq, URI: string(rune('a' + seq))})
		if len(queries) != 1 || keys[asked.key] || keys[queries[0].Key] || asked.key == queries[0].Key {
			t.Fatalf("keys %v, then %d and %v", keys, asked.key, queries)
		}
		keys[asked.key], keys[queries[0].Key] = true, true
	}
}

// If the gateway has login pages, clients get the URL of the page for the login that is missing.
func TestLoginPages(t *testing.T) {
	server := config.Server{Name: "fake", URLs: []string{"http://127.0.0.1:1/"}, Replicas: 1, Auth: config.ServerAuth{Type: "auto", As: "shared"}}
	for want, pages := range map[string]func(message.LoginKey) string{
		"":          nil,
		"page fake": func(key message.LoginKey) string { return "page " + key.Entry },
	} {
		w := behindLogin(t)
		w.s.logins = newState(Options{Server: server, LoginURL: pages}, kernel.Reference{}, 1).logins
		_, told := w.effects(message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin})
		rules, _ := has[message.SetServerRules](told)
		if rules.Server.Login == nil || rules.Server.Login.URL() != want || rules.Server.Login.Command != "goblin-actor login fake" {
			t.Errorf("login %+v, want page %q", rules.Server.Login, want)
		}
	}
}

// The status of a server that needs a login says how to log in, or what to configure if that cannot help.
func TestLoginHints(t *testing.T) {
	for name, c := range map[string]struct {
		auth   config.ServerAuth
		change message.BackendChanged
		want   string
	}{
		"a user can log in":     {config.ServerAuth{Type: "auto", As: "shared"}, message.BackendChanged{Phase: message.NeedsLogin}, "log in: goblin-actor login fake"},
		"client credentials":    {config.ServerAuth{Type: "client", As: "shared"}, message.BackendChanged{Phase: message.NeedsLogin}, "fix clientId and clientSecret"},
		"a login does not help": {config.ServerAuth{Type: "auto", As: "shared"}, message.BackendChanged{Phase: message.NeedsLogin, NoLogin: true}, "set its headers"},
		"auth is off":           {config.ServerAuth{Type: "none", As: "shared"}, message.BackendChanged{Phase: message.NeedsLogin}, "set its headers"},
		"it is retried":         {config.ServerAuth{Type: "auto", As: "shared"}, message.BackendChanged{Phase: message.Waiting}, "retries by itself"},
		"it is ready":           {config.ServerAuth{Type: "auto", As: "shared"}, message.BackendChanged{Phase: message.Ready, Info: &message.ServerInfo{}}, ""},
	} {
		w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Auth: c.auth, Queue: queue}, 1)
		c.change.Backend = w.backends[0]
		w.step(c.change)
		if hint := w.s.report().Hint; !strings.Contains(hint, c.want) || c.want == "" && hint != "" {
			t.Errorf("%s: hint %q, want %q", name, hint, c.want)
		}
	}
}

// A call that needs a login fails if its client cannot be asked. No user is asked during a method that does not permit
// questions.
func TestClientThatCannotBeAsked(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	m := ask(1)
	m.Request.Caller = &message.Caller{ClientKey: "c"}
	acts, _ := w.effects(m)
	if failed, is := has[failLogin](acts); !is || failed.fault.Name != protocol.NeedsLogin || failed.login != theLogin {
		t.Errorf("acts %v, want failLogin", acts)
	}
	m = ask(2)
	m.Request.Frame.Method = protocol.MethodPing
	acts, _ = w.effects(m)
	if _, is := has[askLogin](acts); is {
		t.Error("a user was asked during a method that does not permit questions")
	}
}
