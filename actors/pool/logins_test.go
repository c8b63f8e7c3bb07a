package pool

import (
	"fmt"
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

// ask returns a call of a client that supports URL elicitation.
func ask(seq uint64) message.Dispatch {
	r := &message.Request{Server: "fake", Caller: &message.Caller{ClientKey: "c", Can: message.CanURL}}
	r.Frame.Method = protocol.MethodToolsCall
	return message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r}
}

// effects applies a message and returns the acts and the messages to other actors.
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

// The user is asked to log in while the call waits. The number of such calls is limited, and the call fails if there is no
// login within a minute.
func TestUserIsAskedToLogIn(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	acts, _ := w.effects(ask(1))
	asked, is := has[askLogin](acts)
	if !is || asked.login != theLogin || asked.call.Seq != 1 {
		t.Fatalf("acts %v, want askLogin", acts)
	}
	if acts, _ := w.effects(ask(2)); len(acts) == 0 {
		t.Error("the user of the second call was not asked")
	}
	acts, _ = w.effects(ask(3)) // the limit is reached
	if _, is := has[failLogin](acts); !is {
		t.Errorf("acts %v, want failLogin", acts)
	}
	acts, _ = w.effects(message.ServerRequestResult{Key: asked.key, Result: []byte(`{"action":"accept"}`)})
	wake, is := has[kernel.Wake](acts)
	if !is || wake.Msg != any(loginDue{asked.call}) {
		t.Fatalf("acts %v, want a timer", acts)
	}
	w.now = w.now.Add(loginPulse)
	if _, told := w.effects(loginDue{asked.call}); len(told) != 1 {
		t.Errorf("messages %v, want progress", told)
	}
	w.now = w.now.Add(loginWait - loginPulse)
	acts, _ = w.effects(loginDue{asked.call})
	if failed, is := has[failLogin](acts); !is || failed.fault.Name != protocol.NeedsLogin {
		t.Errorf("acts after a minute: %v, want failLogin", acts)
	}
	if acts, told := w.effects(loginDue{asked.call}); len(acts)+len(told) != 0 {
		t.Errorf("after the call has failed: acts %v, messages %v; want none", acts, told)
	}
	w.step(message.Cancel{Call: message.CallRef{Seq: 2}})
	if len(w.s.logins.waiting) != 0 {
		t.Errorf("%d calls still wait", len(w.s.logins.waiting))
	}
}

// A call that lacked a scope continues after a login that grants it.
func TestLoginWithMoreScopes(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.Ready)
	w.step(ask(1))
	at := w.sent[1]
	delete(w.sent, 1)
	acts, _ := w.effects(message.NotExecuted{Backend: at, Call: message.CallRef{Seq: 1}, Request: ask(1).Request, Login: &message.LoginRefused{Reason: "scope", Scope: true}})
	if _, is := has[askLogin](acts); !is {
		t.Fatalf("acts %v, want askLogin", acts)
	}
	w.step(message.LoginChanged{Login: message.LoginKey{Entry: "other"}, Phase: message.LoginPresent})
	if len(w.sent) != 0 {
		t.Error("the call continued after another login")
	}
	w.step(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent})
	if _, sent := w.sent[1]; !sent {
		t.Error("the call did not continue")
	}
}

// A connection whose login was refused tries once with each renewed login.
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
		t.Fatal("the connection was not told about the login")
	}
	w.phase(0, message.Connecting)
	if told(refused) {
		t.Error("the connection was told to use the refused login again")
	}
	if !told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}) {
		t.Error("the connection was not told about the renewed login")
	}
	w.phase(0, message.Ready)
	_, all := w.effects(message.LoginChanged{Login: theLogin, Phase: message.LoginNone, Reason: "logged out"})
	if _, is := has[message.LoggedOut](all); !is {
		t.Errorf("messages %v, want LoggedOut", all)
	}
}

// Calls that wait for a login are answered when the pool stops.
func TestLoginWaitersAreAnsweredAtTheEnd(t *testing.T) {
	w := behindLogin(t)
	w.phase(0, message.NeedsLogin)
	w.step(ask(1))
	w.step(kernel.Stopping{Reason: kernel.WhyShutdown})
	w.fault(1, protocol.ShuttingDown)
}

// Connections of lanes and of forwarded headers are closed after ten minutes without use, others after sessionIdle.
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

// The actor of an unused login is stopped after loginIdle, but not during a login flow or while a connection uses it. A
// renewal does not count as use.
func TestUnusedLoginsAreStopped(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "principal", MaxBackends: 8, Auth: config.ServerAuth{Type: "auto", As: "principal"}, Queue: queue}, 1)
	w.s.limits.SessionIdle = time.Hour
	w.phase(0, message.Ready)
	idle, calls := message.LoginKey{Entry: "fake", Lane: "key:idle"}, message.LoginKey{Entry: "fake", Lane: "key:calls"}
	var due time.Time // time of the next sweep
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
		t.Fatalf("logins %v, next sweep at %v", w.s.logins.byKey, due)
	}
	began := w.now
	for w.now.Before(began.Add(loginIdle)) {
		if w.s.logins.byKey[idle] == nil {
			t.Fatalf("stopped after %v", w.now.Sub(began))
		}
		does(message.LoginChanged{Login: idle, Phase: message.LoginPresent})
		if w.now = due; w.now.Sub(began) > 2*loginIdle {
			t.Fatal("no sweep in time")
		}
		if ended := does(tenantsDue{}); w.s.logins.byKey[idle] != nil && len(ended) > 0 || w.s.logins.byKey[idle] == nil && !slices.Equal(ended, []message.LoginKey{idle}) {
			t.Fatalf("stopped after %v: %v", w.now.Sub(began), ended)
		}
	}
	if w.s.logins.byKey[idle] != nil || w.s.logins.byKey[calls] == nil || w.s.logins.byKey[message.LoginKey{Entry: "fake"}] == nil {
		t.Errorf("left: %v", w.s.logins.byKey)
	}
}

// The logins of revoked principals end, including those without connections, and no others. The actor runs until the
// authorization server has been asked to revoke the login.
func TestLoginsOfRevokedPrincipalsEnd(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "principal", Auth: config.ServerAuth{Type: "auto", As: "principal"}, Queue: queue}, 1)
	w.phase(0, message.Ready)
	lane := func(who string) message.LoginKey { return message.LoginKey{Entry: "fake", Lane: who} }
	for _, who := range []string{"", "key:a", "key:b"} {
		w.step(message.LoginChanged{Login: lane(who), Phase: message.LoginPresent})
	}
	m := message.EndLogins{Who: map[string]bool{"key:a": true, "key:c": true}, Stored: []message.LoginKey{lane("key:a"), lane("key:c"), {Entry: "other", Lane: "key:a"}}}
	acts, _ := w.effects(m)
	var ended []message.LoginKey
	for _, act := range acts {
		if a, is := act.(revokeLogin); is && a.entry.Name == "fake" {
			ended = append(ended, a.login)
		}
	}
	if !slices.Equal(ended, []message.LoginKey{lane("key:a"), lane("key:c")}) {
		t.Fatalf("acts %v", acts)
	}
	if acts, _ := w.effects(m); len(acts) != 0 {
		t.Errorf("revoked again: %v", acts)
	}
	if acts, _ := w.effects(loginRevoked{login: lane("key:a")}); len(acts) != 1 || acts[0] != any(endLogin{lane("key:a")}) {
		t.Errorf("acts %v, want endLogin", acts)
	}
	if len(w.s.logins.byKey) != 2 || w.s.logins.byKey[lane("key:b")] == nil {
		t.Errorf("left: %v", w.s.logins.byKey)
	}
}

// The actor of a revoked login runs until the record that the nodes share is empty, or a new login has begun.
func TestRevokedLoginStillShared(t *testing.T) {
	w := behindOwnLogins(t)
	key := laneOf("key:a")
	w.step(message.LoginChanged{Login: key, Phase: message.LoginPresent})
	w.effects(message.EndLogins{Who: map[string]bool{"key:a": true}})
	for range 3 {
		acts, _ := w.effects(loginRevoked{login: key, err: fmt.Errorf("%w: no majority", message.ErrStillShared)})
		if _, stopped := has[endLogin](acts); stopped || !w.s.logins.revoking[key] {
			t.Fatalf("acts %v; the actor must not be stopped", acts)
		}
		acts, _ = w.effects(revokeDue{key})
		if again, is := has[revokeLogin](acts); !is || again.login != key {
			t.Fatalf("acts %v, want revokeLogin", acts)
		}
	}
	acts, _ := w.effects(loginRevoked{login: key})
	if a, is := has[endLogin](acts); !is || a.login != key {
		t.Errorf("acts %v, want endLogin", acts)
	}
	if acts, _ := w.effects(revokeDue{key}); len(acts) != 0 {
		t.Errorf("acts %v after the end", acts)
	}
}

// An answer to a login that was not begun starts no actor.
func TestAnswerToUnknownLogin(t *testing.T) {
	w := behindLogin(t)
	reply := make(chan message.LoginFinished, 1)
	answer := message.LoginAnswer{Login: message.LoginKey{Entry: "fake", Lane: "key:anna"}, Finish: message.FinishLogin{Who: "key:anna", Reply: reply}}
	if acts, _ := w.effects(answer); len(acts) != 0 || len(reply) != 1 || (<-reply).Err != message.ErrNotUnderWay {
		t.Errorf("acts %v, want a refusal", acts)
	}
	w.step(message.RequestLogin{Entry: "fake", Begin: &message.BeginLogin{}})
	answer.Login = theLogin
	if acts, _ := w.effects(answer); len(acts) != 1 {
		t.Errorf("acts %v, want toLogin", acts)
	}
}

// After the first login to a server with an unknown catalog, clients that request its items wait until the items are
// published or the attempt to connect has failed. They are not told to log in again.
func TestClientsWaitForTheFirstAttemptAfterALogin(t *testing.T) {
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
		t.Fatalf("before the login: %v", login)
	}
	if _, _, answered := told(message.Refresh{Seq: 1}); answered != 1 {
		t.Error("a client waits although no login is in progress")
	}
	if login, _, _ := told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}); login == nil || !login.Done {
		t.Fatalf("after the login: %v", login)
	}
	for _, p := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		if _, announced, answered := told(change(p)); announced || answered != 0 {
			t.Errorf("%s: announced %v, answered %d", p, announced, answered)
		}
		if _, _, answered := told(message.Refresh{Seq: 2}); answered != 0 {
			t.Errorf("%s: the client did not wait", p)
		}
	}
	if login, announced, answered := told(change(message.NeedsLogin)); !announced || login == nil || login.Done || answered != 3 {
		t.Errorf("refused: announced %v, %v; answered %d", announced, login, answered)
	}
	w.step(change(message.Handshaking)) // a login during another attempt
	if login, _, _ := told(message.LoginChanged{Login: theLogin, Phase: message.LoginPresent}); login == nil || !login.Done {
		t.Errorf("during the attempt: %v", login)
	}
	w.step(change(message.Syncing))
	w.step(message.Refresh{Seq: 3})
	if login, announced, answered := told(change(message.Ready)); !announced || login != nil || answered != 0 {
		t.Errorf("ready: announced %v, %v; answered %d", announced, login, answered)
	}
	if _, _, answered := told(message.ConfirmResult{Key: w.s.catalog.lastConfirm}); answered != 1 {
		t.Errorf("visible: answered %d", answered)
	}
}

// With client credentials, no client is told to log in and no user is asked.
func TestNoUserIsAskedWithClientCredentials(t *testing.T) {
	w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1/"}, Isolation: "shared", Auth: config.ServerAuth{Type: "client", As: "shared"}, Queue: queue}, 1)
	_, told := w.effects(message.BackendChanged{Backend: w.backends[0], Phase: message.NeedsLogin, Reason: "invalid_client"})
	if rules, _ := has[message.SetServerRules](told); rules.Server.Login == nil || rules.Server.Login.Command != "" || rules.Server.Login.URL() != "" {
		t.Errorf("login for clients: %+v", rules.Server.Login)
	}
	if hint := w.s.loginHint(); strings.Contains(hint, "goblin-actor login") {
		t.Errorf("hint %q names the login command", hint)
	}
	w.step(ask(1))
	if f := w.failed[1]; f == nil || f.Name != protocol.ServerUnavailable || f.LoginURL != "" || !strings.Contains(f.Message, "invalid_client") || !strings.Contains(f.Message, catalog.OnlyGatewayLogsIn) {
		t.Errorf("fault %v", f)
	}
}

// When the server or its auth settings change, the actor of the login is stopped before a new connection can use it, since
// its token is for the old server only. Other changes keep it.
func TestChangedServerEndsItsLogins(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*config.Server)
		ends   bool
	}{
		"changed URL":     {func(s *config.Server) { s.URLs = []string{"http://127.0.0.1:2/"} }, true},
		"changed secret":  {func(s *config.Server) { s.Auth.ClientSecret = "new" }, true},
		"auth none":       {func(s *config.Server) { s.Auth.Type = "none" }, true},
		"changed headers": {func(s *config.Server) { s.Headers = map[string]string{"X": "1"} }, false},
		"added replica":   {func(s *config.Server) { s.URLs = append(slices.Clone(s.URLs), "http://127.0.0.1:3/") }, false},
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
			t.Errorf("%s: the login ends at effect %d, a connection starts at effect %d", name, end, begin)
		}
	}
}
