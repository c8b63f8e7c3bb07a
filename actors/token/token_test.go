package token

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
)

// The first refusal starts the discovery of the authorization server. After a login, the token is used and survives a
// restart.
func TestLoginFromTheFirstRefusalOn(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	status, v := w.get(w.handle)
	if status != http.StatusUnauthorized || !errors.Is(v.Err, ErrNeedsLogin) {
		t.Fatalf("without a login: %d, %+v", status, v)
	}
	w.logIn()
	if status, v = w.get(w.handle); status != http.StatusOK {
		t.Fatalf("with a login: %d, %+v", status, v)
	}
	var got []message.LoginChanged
	w.store.until(t, "the owner was told twice", func() bool {
		got = append(got, actortest.Of[message.LoginChanged](w.owner)...)
		return len(got) >= 2
	})
	if len(got) != 2 || got[0].Phase != message.LoginNeeded || got[1].Phase != message.LoginPresent {
		t.Errorf("the owner received %+v", got)
	}
	// An actor started with the stored login uses its token.
	again := w.opts
	again.Login.Lane, again.Stored = "again", w.store.get("files")
	h := w.spawn(again)
	if status, v = w.get(h); status != http.StatusOK {
		t.Errorf("after a restart: %d, %+v", status, v)
	}
	// A stored login is not used for another server.
	elsewhere := again
	elsewhere.Login.Lane, elsewhere.Agent = "elsewhere", agentOf(t, "https://other.example/mcp", oauth.Config{})
	if h = w.spawn(elsewhere); settled(h) != "none" || h.Authorization() != "" {
		t.Error("the token was used for another server")
	}
}

// A login's actor can be started while its predecessor is still stopping: a lane whose connections have just closed may be
// needed again at once.
func TestLoginStartsWhileItsPredecessorStops(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	lives := make(chan *Handle, 2)
	actortest.Child(w.system, func(self kernel.Self) kernel.Reference {
		o := w.opts
		lives <- Spawn(self, o)
		self.StopChild((<-lives).Actor())
		o.Life++
		lives <- Spawn(self, o)
		return kernel.Reference{}
	})
	if h := <-lives; h.Actor().IsZero() || settled(h) != "none" {
		t.Error("the second actor does not answer")
	}
}

func settled(h *Handle) string {
	reply := make(chan any, 1)
	h.Actor().Tell(message.Inspect{Reply: func(part any) { reply <- part }})
	r, _ := (<-reply).(message.LoginReport)
	return r.Phase
}

// S5.4.2: a refused token is renewed and the request repeated. If the renewal is refused, too, the token is forgotten and a login is
// needed. The client registration is kept for that login.
func TestRefusedTokenIsRenewed(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	before := w.handle.Authorization()
	w.issuer.Revoke(false)
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
	if w.handle.Authorization() == before || w.issuer.Refreshes() != 1 {
		t.Errorf("%d refreshes, want 1", w.issuer.Refreshes())
	}
	w.issuer.Revoke(true)
	if status, v := w.get(w.handle); status != http.StatusUnauthorized || !errors.Is(v.Err, ErrNeedsLogin) || w.handle.Authorization() != "" {
		t.Fatalf("after the login was revoked: %d, %+v", status, v)
	}
	w.store.until(t, "the store has forgotten the token, and no more", func() bool {
		r, ok := decode(w.store.values["files"], w.server.URL, oauth.Config{})
		return ok && r.Token.Access == "" && len(r.Clients) == 1
	})
	w.logIn()
	if n := len(w.issuer.Seen("/register")); n != 1 {
		t.Errorf("registered %d times, want once", n)
	}
}

// If another process has renewed the login with the same refresh token, the stored login is adopted.
func TestLoginOfAnotherProcessIsAdopted(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	kept := w.store.get("files")
	other := w.opts
	other.Login.Lane, other.Stored = "other", kept
	h := w.spawn(other)
	settled(h)
	w.issuer.Revoke(false)
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "invalid_grant" }) // the issuer would otherwise accept the used refresh token
	if status, v := w.get(h); status != http.StatusOK || h.Authorization() != w.handle.Authorization() {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
}

// A token issued with a new refresh token is used only after the store has answered, even if with an error.
func TestTokenIsOnDiskBeforeUse(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	w.issuer.Revoke(false)
	var before uint64
	w.store.set(func() { w.store.silent, before = true, w.store.last })
	sent := w.handle.Authorization()
	verdict := w.handle.Refused(sent, http.StatusUnauthorized, nil)
	for w.issuer.Refreshes() == 0 {
		<-time.After(time.Millisecond)
	}
	select {
	case v := <-verdict:
		t.Fatalf("a verdict before the store has answered: %+v", v)
	case <-time.After(50 * time.Millisecond):
	}
	if w.handle.Authorization() != sent {
		t.Error("the new token was used before its refresh token was on disk")
	}
	var asked uint64
	w.store.until(t, "the store was asked", func() bool {
		asked = w.store.last
		return w.store.order[len(w.store.order)-1] == "remember" && asked != before
	})
	w.handle.Actor().Tell(message.TokenStored{Key: "files", Number: asked, Err: "the disk is full"})
	if v := <-verdict; !v.Again || w.handle.Authorization() == sent {
		t.Errorf("a token that could not be stored was not used: %+v", v)
	}
}

// With client credentials the actor logs in by itself, requests more scopes as needed, and refuses logins of people.
func TestClientCredentials(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, func(o *Options) {
		o.ClientCredentials, o.Agent.Config = true, oauth.Config{ClientID: "robot", Secret: "secret"}
	})
	w.issuer.Client("robot", "secret")
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"write"} })
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Errorf("request that needs another scope: %d, %+v", status, v)
	}
	if began := w.begin("local"); began.Err == nil || began.Hint == "" {
		t.Error("BeginLogin succeeded")
	}
}

// A person consents to additional scopes by logging in again. The number of such steps is limited.
func TestStepUp(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"read"} })
	w.get(w.handle)
	w.logIn()
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"write"} })
	status, v := w.get(w.handle)
	if status != http.StatusForbidden || !errors.Is(v.Err, ErrScope) || w.handle.Authorization() == "" {
		t.Fatalf("status %d, verdict %+v, want 403 and ErrScope", status, v)
	}
	w.logIn()
	if status, v = w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
	if _, scopes, _ := w.issuer.Valid(w.handle.Authorization()[len("Bearer "):]); !slices.Equal(scopes, []string{"read", "write"}) {
		t.Errorf("scopes %q, want read and write", scopes)
	}
	for _, scope := range []string{"a", "b"} {
		w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{scope} })
		w.get(w.handle)
		w.logIn()
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"d"} })
	if _, v = w.get(w.handle); !errors.Is(v.Err, ErrScope) {
		t.Errorf("scopes are still added: %+v", v)
	}
}

func TestDevice(t *testing.T) {
	w := newWorld(t, authtest.Faults{Polls: 1}, nil)
	reply := make(chan message.LoginStarted, 1)
	w.handle.Actor().Tell(message.BeginLogin{Who: "ada", Device: true, Reply: reply})
	began := <-reply
	if began.Err != nil || began.UserCode == "" || began.URL == "" {
		t.Fatalf("%v", began.Err)
	}
	if done := w.finish("ada", url.Values{"state": {began.State}}); done.Err != nil {
		t.Fatal(done.Err)
	}
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("status %d, verdict %+v, want 200", status, v)
	}
}

func TestEndLogin(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	token := w.handle.Authorization()[len("Bearer "):]
	reply := make(chan message.LoginFinished, 1)
	w.handle.Actor().Tell(message.EndLogin{Reply: reply})
	if done := <-reply; done.Err != nil {
		t.Error(done.Err)
	}
	if _, _, ok := w.issuer.Valid(token); ok || w.handle.Authorization() != "" {
		t.Error("the token is still valid or in use")
	}
	w.store.until(t, "the store has removed the login", func() bool { return w.store.values["files"] == nil })
}

// An answer from another principal ends the login with an error, and a login accepts only one answer.
func TestLoginIsBoundToItsPrincipal(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	began := w.begin("ada")
	answer := w.issuer.Approve(t, began.URL)
	if done := w.finish("eve", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("eve finished ada's login: %v", done.Err)
	}
	if done := w.finish("ada", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("a login that another principal tried to finish continues: %v", done.Err)
	}
	began = w.begin("ada")
	answer = w.issuer.Approve(t, began.URL)
	if done := w.finish("ada", answer); done.Err != nil {
		t.Fatal(done.Err)
	}
	if done := w.finish("ada", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("the same answer a second time: %v", done.Err)
	}
	if n := w.opts.Budget.taken.Load(); n != 0 {
		t.Errorf("%d logins counted in the budget, want 0", n)
	}
}

// Pending logins are limited for each principal and by the budget. A login beyond the first limit drops the principal's
// oldest one; a login beyond the budget is refused.
func TestPendingLoginsAreLimited(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	first := w.begin("ada")
	for range maxLoginsOfOne {
		if began := w.begin("ada"); began.Err != nil {
			t.Fatal(began.Err)
		}
	}
	if done := w.finish("ada", w.issuer.Approve(t, first.URL)); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("the oldest login continues: %v", done.Err)
	}
	if n := w.report().Pending; n != maxLoginsOfOne {
		t.Errorf("%d pending logins, want %d", n, maxLoginsOfOne)
	}
	if n := w.opts.Budget.taken.Load(); n != maxLoginsOfOne {
		t.Errorf("%d logins counted in the budget, want %d", n, maxLoginsOfOne)
	}
	w.opts.Budget.taken.Store(maxLoginsOverall)
	if began := w.begin("bob"); !errors.Is(began.Err, ErrTooMany) {
		t.Errorf("login beyond the budget: %v, want ErrTooMany", began.Err)
	}
}

// Waiting requests are answered when the actor stops.
func TestStoppingAnswers(t *testing.T) {
	w := newWorld(t, authtest.Faults{TokenDelay: 300 * time.Millisecond}, nil)
	w.logIn()
	verdict := w.handle.Refused(w.handle.Authorization(), http.StatusUnauthorized, nil)
	w.report()
	actortest.Stop(t, w.system)
	if v := <-verdict; v.Again || v.Err == nil {
		t.Errorf("waiting request: %+v, want an error", v)
	}
	if v := <-w.handle.Refused("Bearer x", http.StatusUnauthorized, nil); v.Err == nil {
		t.Errorf("request after the stop: %+v, want an error", v)
	}
	if done := w.finish("ada", url.Values{}); done.Err == nil {
		t.Error("FinishLogin succeeded after the actor had stopped")
	}
}

var _ kernel.Logic = (*shell)(nil)

// If the authorization server has forgotten the client, the next login registers again.
func TestForgottenRegistration(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	began := w.begin("ada")
	answer := w.issuer.Approve(t, began.URL)
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "invalid_client" })
	if done := w.finish("ada", answer); done.Err == nil || done.Hint == "" {
		t.Fatalf("login with a forgotten client: %v, want an error with a hint", done.Err)
	}
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "" })
	w.logIn()
	if n := len(w.issuer.Seen("/register")); n != 2 {
		t.Errorf("registered %d times, want 2", n)
	}
}

// The secrets of a login are reported together with those that they replace. After the login has ended there are none.
func TestLoginSecretsAreReported(t *testing.T) {
	var mu sync.Mutex
	var now, before []string
	w := newWorld(t, authtest.Faults{}, func(o *Options) {
		o.Agent.Config = oauth.Config{ClientID: "ours", Secret: "the secret of the client"}
		o.Secrets = func(is, was []string) {
			mu.Lock()
			defer mu.Unlock()
			now, before = is, was
		}
	})
	w.issuer.Client("ours", "the secret of the client")
	w.logIn()
	told := func() (is, was []string) {
		w.report()
		mu.Lock()
		defer mu.Unlock()
		return now, before
	}
	first, _ := told()
	sent := w.handle.Authorization()
	if len(first) != 3 || "Bearer "+first[0] != sent || first[2] != "the secret of the client" || !strings.Contains(string(w.store.get("files")), first[1]) {
		t.Fatalf("%d secrets reported, want access token, refresh token and client secret", len(first))
	}
	w.issuer.Revoke(false)
	if v := <-w.handle.Refused(sent, http.StatusUnauthorized, nil); !v.Again {
		t.Fatal(v)
	}
	if is, was := told(); len(is) != 3 || "Bearer "+is[0] != w.handle.Authorization() || is[0] == first[0] || !slices.Equal(was, first) {
		t.Errorf("after the renewal: %d secrets and %d former ones reported", len(is), len(was))
	}
	reply := make(chan message.LoginFinished, 1)
	w.handle.Actor().Tell(message.EndLogin{Reply: reply})
	<-reply
	if is, was := told(); len(is) != 0 || len(was) != 3 {
		t.Errorf("after the end: %d secrets and %d former ones reported", len(is), len(was))
	}
}
