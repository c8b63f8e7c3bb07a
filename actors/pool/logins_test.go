package pool

import (
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	principals "goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// ask is a call of a client that can show its user a page.
func ask(seq uint64) message.Dispatch {
	r := &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: "c", Can: message.CanURL}}
	r.Frame.M = protocol.MethodToolsCall
	return message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r}
}

// effects are what a message leads to.
func (w *world) effects(msg any) (acts []any, told []any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		if e.Act != nil {
			acts = append(acts, e.Act)
		}
		if e.Msg != nil {
			told = append(told, e.Msg)
		}
	}
	return acts, told
}

func has[T any](list []any) (v T, found bool) {
	for _, e := range list {
		if v, found = e.(T); found {
			return v, true
		}
	}
	return v, false
}

func behindLogin(t *testing.T) *world {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "shared", Auth: config.ServerAuth{Type: "auto", As: "shared"}, Queue: queue}, 1)
	w.s.limits.ParkedPerServer = 2
	return w
}

var theLogin = message.LoginKey{Entry: "fake"}

func TestLoginIsAskedForAndAwaited(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	acts, _ := w.effects(ask(1))
	asked, is := has[askLogin](acts)
	if !is || asked.login != theLogin || asked.call.Seq != 1 {
		t.Fatalf("got %v, want that the user is asked", acts)
	}
	if acts, _ := w.effects(ask(2)); len(acts) == 0 {
		t.Error("the second is not asked")
	}
	acts, _ = w.effects(ask(3)) // as many wait as may
	if _, is := has[failLogin](acts); !is {
		t.Errorf("got %v, want the error", acts)
	}
	acts, _ = w.effects(message.ServerRequestResult{Key: asked.key, Result: []byte(`{"action":"accept"}`)})
	wake, is := has[kernel.Wake](acts)
	if !is || wake.Msg != any(loginDue{asked.call}) {
		t.Fatalf("got %v, want a clock", acts)
	}
	w.now = w.now.Add(loginPulse)
	if _, told := w.effects(loginDue{asked.call}); len(told) != 1 {
		t.Errorf("told %v, want a sign of life", told)
	}
	w.now = w.now.Add(loginWait - loginPulse)
	acts, _ = w.effects(loginDue{asked.call})
	if failed, is := has[failLogin](acts); !is || failed.fault.Name != protocol.NeedsLogin {
		t.Errorf("after a minute: %v", acts)
	}
	if acts, told := w.effects(loginDue{asked.call}); len(acts)+len(told) != 0 {
		t.Errorf("answered twice: %v, %v", acts, told)
	}
	w.step(message.Cancel{Call: message.CallRef{Seq: 2}})
	if len(w.s.logins.waiting) != 0 {
		t.Errorf("%d wait still", len(w.s.logins.waiting))
	}
}

// A login that reaches further lets the call go on for which the last one did not.
func TestLoginThatReachesFurther(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.Ready)
	w.step(ask(1))
	at := w.sent[1]
	delete(w.sent, 1)
	acts, _ := w.effects(message.NotExecuted{Backend: at, Call: message.CallRef{Seq: 1}, Request: ask(1).Request, Login: &message.LoginRefused{Reason: "scope", Scope: true}})
	if _, is := has[askLogin](acts); !is {
		t.Fatalf("got %v, want that the user is asked", acts)
	}
	w.step(message.LoginChanged{Login: message.LoginKey{Entry: "other"}, Phase: message.LoginPresent})
	if len(w.sent) != 0 {
		t.Error("another login is taken for it")
	}
	w.step(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent})
	if _, sent := w.sent[1]; !sent {
		t.Error("the call does not go on")
	}
}

// Each time that a login is renewed a refused connection gets one chance, not more.
func TestRefusedLoginIsTriedOnce(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	told := func(msg any) bool {
		_, told := w.effects(msg)
		_, is := has[message.LoggedIn](told)
		return is
	}
	refused := message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin}
	if !told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}) {
		t.Fatal("the connection does not hear of the login")
	}
	w.phase(0, message.Connecting)
	if told(refused) {
		t.Error("it is told to use the login that was refused")
	}
	if !told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}) {
		t.Error("it does not hear of the next one")
	}
	w.phase(0, message.Ready)
	_, all := w.effects(message.LoginChanged{Login: theLogin, Phase: message.LoginNone, Reason: "logged out"})
	if _, is := has[message.LoggedOut](all); !is {
		t.Errorf("told %v, want that it is logged out", all)
	}
}

// What waits for a login when the pool goes is answered.
func TestWaitsForLoginsEndWithThePool(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	w.step(ask(1))
	w.step(kernel.Stopping{Reason: kernel.WhyShutdown})
	w.fault(1, protocol.ShuttingDown)
}

func TestLanesCloseAfterTenMinutes(t *testing.T) {
	w := behindLogin(t)
	w.s.limits.SessionIdle = time.Hour
	for _, c := range []struct {
		of   message.Tenant
		want time.Duration
	}{{message.Tenant{Lane: "key:a"}, 10 * time.Minute}, {message.Tenant{Headers: map[string]string{"A": "b"}}, 10 * time.Minute}, {message.Tenant{Client: "c"}, time.Hour}} {
		if got := w.s.idleAfter(&c.of); got != c.want {
			t.Errorf("%v: %v, want %v", c.of.Lane, got, c.want)
		}
	}
}

// Who logs in and never calls is let go like a lane that nobody uses: not while the login is under way, nor while there is a connection for it; and
// that it is renewed is no use of it.
func TestLoginsWithoutCallsAreLetGo(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "principal", MaxBackends: 8, Auth: config.ServerAuth{Type: "auto", As: "principal"}, Queue: queue}, 1)
	w.s.limits.SessionIdle = time.Hour
	w.phase(0, message.Ready)
	idle, calls := message.LoginKey{Entry: "fake", Lane: "key:idle"}, message.LoginKey{Entry: "fake", Lane: "key:calls"}
	var due time.Time // when it looks
	does := func(msg any) (ended []message.LoginKey) {
		acts, _ := w.effects(msg)
		for _, act := range acts {
			switch a := act.(type) {
			case kernel.Wake:
				if a.Msg == any(tenantsDue{}) {
					due = w.now.Add(a.After)
				}
			case endLogin:
				ended = append(ended, a.login)
			}
		}
		return ended
	}
	for _, key := range []message.LoginKey{idle, calls, {Entry: "fake"}} {
		does(message.RequestLogin{Entry: "fake", Who: &principals.Principal{ID: key.Lane, Admin: principals.AdminAct, Rights: "all"}, Catalog: key.Lane == "", Begin: &message.BeginLogin{}})
		does(message.LoginChanged{Login: key, Phase: message.LoginPresent})
	}
	w.own("key:calls", 1, func(r *message.Request) { r.Tenant.Lane, r.Tenant.Isolation = calls.Lane, "principal" })
	if len(w.s.logins.byKey) != 3 || due.IsZero() {
		t.Fatalf("logins: %v, looked at: %v", w.s.logins.byKey, due)
	}
	began := w.now
	for w.now.Before(began.Add(loginIdle)) {
		if w.s.logins.byKey[idle] == nil {
			t.Fatalf("let go after %v", w.now.Sub(began))
		}
		does(message.LoginChanged{Login: idle, Phase: message.LoginPresent})
		if w.now = due; w.now.Sub(began) > 2*loginIdle {
			t.Fatal("it is not looked at in time")
		}
		if ended := does(tenantsDue{}); w.s.logins.byKey[idle] != nil && len(ended) > 0 || w.s.logins.byKey[idle] == nil && !slices.Equal(ended, []message.LoginKey{idle}) {
			t.Fatalf("after %v: let go of %v", w.now.Sub(began), ended)
		}
	}
	if w.s.logins.byKey[idle] != nil || w.s.logins.byKey[calls] == nil || w.s.logins.byKey[message.LoginKey{Entry: "fake"}] == nil {
		t.Errorf("left: %v", w.s.logins.byKey)
	}
}

// A principal that is revoked loses its logins, those without connections too, and nobody else loses one. The actor stays until the
// authorization server was told.
func TestRevokedLosesItsLogins(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "principal", Auth: config.ServerAuth{Type: "auto", As: "principal"}, Queue: queue}, 1)
	w.phase(0, message.Ready)
	lane := func(who string) message.LoginKey { return message.LoginKey{Entry: "fake", Lane: who} }
	for _, who := range []string{"", "key:a", "key:b"} {
		w.step(message.LoginChanged{Login: lane(who), Phase: message.LoginPresent})
	}
	m := message.EndLogins{Who: map[string]bool{"key:a": true, "key:c": true}, Kept: []message.LoginKey{lane("key:a"), lane("key:c"), {Entry: "other", Lane: "key:a"}}}
	acts, _ := w.effects(m)
	var ended []message.LoginKey
	for _, act := range acts {
		if a, is := act.(revokeLogin); is && a.entry.Name == "fake" {
			ended = append(ended, a.login)
		}
	}
	if !slices.Equal(ended, []message.LoginKey{lane("key:a"), lane("key:c")}) {
		t.Fatalf("got %v", acts)
	}
	if acts, _ := w.effects(m); len(acts) != 0 {
		t.Errorf("told again: %v", acts)
	}
	if acts, _ := w.effects(loginRevoked{login: lane("key:a")}); len(acts) != 1 || acts[0] != any(endLogin{lane("key:a")}) {
		t.Errorf("got %v, want that the actor ends", acts)
	}
	if len(w.s.logins.byKey) != 2 || w.s.logins.byKey[lane("key:b")] == nil {
		t.Errorf("left: %v", w.s.logins.byKey)
	}
}

// An answer to a login that nobody has begun makes no actor for it.
func TestAnswerToNoLogin(t *testing.T) {
	w := behindLogin(t)
	reply := make(chan message.LoginFinished, 1)
	answer := message.LoginAnswer{Login: message.LoginKey{Entry: "fake", Lane: "key:anna"}, Finish: message.FinishLogin{Who: "key:anna", Reply: reply}}
	if acts, _ := w.effects(answer); len(acts) != 0 || len(reply) != 1 || (<-reply).Err != message.ErrNotUnderWay {
		t.Errorf("got %v, want that it is refused", acts)
	}
	w.step(message.RequestLogin{Entry: "fake", Begin: &message.BeginLogin{}})
	answer.Login = theLogin
	if acts, _ := w.effects(answer); len(acts) != 1 {
		t.Errorf("got %v, want that the login is told", acts)
	}
}

// A server that nobody knew says what it has soon after somebody has logged in: until then who asks for something waits, and is not sent to log in again.
func TestLoginHasJustCome(t *testing.T) {
	w := behindLogin(t)
	told := func(msg any) (*catalog.Login, bool, int) {
		_, all := w.effects(msg)
		answered := 0
		for _, m := range all {
			if _, is := m.(message.RefreshResult); is {
				answered++
			}
		}
		rules, announced := has[message.SetServerRules](all)
		return rules.Server.Login, announced, answered
	}
	change := func(p message.Phase) message.BackendChanged {
		return message.BackendChanged{Backend: w.backends[0], Phase: p, Info: &message.ServerInfo{}}
	}
	if login, _, _ := told(change(message.NeedsLogin)); login == nil || login.Done {
		t.Fatalf("before: %v", login)
	}
	if _, _, answered := told(message.Refresh{Seq: 1}); answered != 1 {
		t.Error("somebody waits although nobody logs in")
	}
	if login, _, _ := told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}); login == nil || !login.Done {
		t.Fatalf("after the login: %v", login)
	}
	for _, p := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		if _, announced, answered := told(change(p)); announced || answered != 0 {
			t.Errorf("%s: announced %v, answered %d", p, announced, answered)
		}
		if _, _, answered := told(message.Refresh{Seq: 2}); answered != 0 {
			t.Errorf("%s: who asks is answered at once", p)
		}
	}
	if login, announced, answered := told(change(message.NeedsLogin)); !announced || login == nil || login.Done || answered != 3 {
		t.Errorf("refused: announced %v, %v; answered %d", announced, login, answered)
	}
	w.step(change(message.Handshaking)) // another attempt, in the middle of which there is a login
	if login, _, _ := told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}); login == nil || !login.Done {
		t.Errorf("in an attempt: %v", login)
	}
	w.step(change(message.Syncing))
	w.step(message.Refresh{Seq: 3})
	if login, announced, answered := told(change(message.Ready)); !announced || login != nil || answered != 0 {
		t.Errorf("ready: announced %v, %v; answered %d", announced, login, answered)
	}
	if _, _, answered := told(message.ConfirmResult{Key: w.s.catalog.lastConfirm}); answered != 1 {
		t.Errorf("clients see it: answered %d", answered)
	}
}

// Where the gateway logs in by itself no client is sent to a login, and no user asked for one.
func TestNobodyIsAskedForTheGatewaysOwnLogin(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "shared", Auth: config.ServerAuth{Type: "client", As: "shared"}, Queue: queue}, 1)
	_, told := w.effects(message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin, Reason: "invalid_client"})
	if rules, _ := has[message.SetServerRules](told); rules.Server.Login == nil || rules.Server.Login.Command != "" || rules.Server.Login.URL() != "" {
		t.Errorf("clients are told %+v", rules.Server.Login)
	}
	if hint := w.s.loginHint(); strings.Contains(hint, "goblin-actor login") {
		t.Errorf("the hint is %q", hint)
	}
	w.step(ask(1))
	if f := w.failed[1]; f == nil || f.Name != protocol.ServerUnavailable || f.LoginURL != "" || !strings.Contains(f.Message, "invalid_client") || !strings.Contains(f.Message, catalog.OnlyGatewayLogsIn) {
		t.Errorf("the call is answered with %v", f)
	}
}

// A login is one at a server, asked for in a way. A new configuration of either has its actor begin anew, before any connection uses it: its
// token is for nobody else. What has nothing to do with it leaves it alone.
func TestLoginsOfAnotherServer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Server)
		ends   bool
	}{
		"another address":      {func(s *config.Server) { s.URLs = []string{"http://127.0.0.1:2/"} }, true},
		"another secret":       {func(s *config.Server) { s.Auth.ClientSecret = "new" }, true},
		"none any more":        {func(s *config.Server) { s.Auth.Type = "none" }, true},
		"other headers":        {func(s *config.Server) { s.Headers = map[string]string{"X": "1"} }, false},
		"one more of the same": {func(s *config.Server) { s.URLs = append(slices.Clone(s.URLs), "http://127.0.0.1:3/") }, false},
	} {
		w := behindLogin(t)
		w.phase(0, message.Ready)
		w.step(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent})
		next := w.s.server
		c.change(&next)
		acts, _ := w.effects(message.Reconfigure{Server: next, Transport: true})
		end := slices.Index(acts, any(endLogin{theLogin}))
		begin := slices.IndexFunc(acts, func(act any) bool { _, is := act.(spawn); return is })
		if (end >= 0) != c.ends || c.ends && begin >= 0 && begin < end || (w.s.logins.byKey[theLogin] == nil) != c.ends {
			t.Errorf("%s: the login ends at %d, a connection begins at %d", name, end, begin)
		}
	}
}
