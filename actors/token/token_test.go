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
		t.Errorf("the owner was told %+v", got)
	}
	// Another life of the same login.
	again := w.opts
	again.Login.Lane, again.Stored = "again", w.store.get("files")
	h := w.spawn(again)
	if status, v = w.get(h); status != http.StatusOK {
		t.Errorf("after a restart: %d, %+v", status, v)
	}
	// The same record for a server elsewhere is not used.
	elsewhere := again
	elsewhere.Login.Lane, elsewhere.Agent = "elsewhere", agentOf(t, "https://other.example/mcp", oauth.Config{})
	if h = w.spawn(elsewhere); settled(h) != "none" || h.Authorization() != "" {
		t.Error("a token is sent to a server that it is not for")
	}
}

// A lane whose connections have just gone may be wanted again at once.
func TestALoginBeginsWhileItsLastLifeEnds(t *testing.T) {
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
		t.Error("it does not begin")
	}
}

func settled(h *Handle) string {
	reply := make(chan any, 1)
	h.Actor().Tell(message.Inspect{Reply: func(part any) { reply <- part }})
	r, _ := (<-reply).(message.LoginReport)
	return r.Phase
}

// S5.4.2.
func TestRefusedTokenIsRenewed(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	before := w.handle.Authorization()
	w.issuer.Revoke(false)
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, v)
	}
	if w.handle.Authorization() == before || w.issuer.Refreshes() != 1 {
		t.Errorf("%d refreshes", w.issuer.Refreshes())
	}
	w.issuer.Revoke(true)
	if status, v := w.get(w.handle); status != http.StatusUnauthorized || !errors.Is(v.Err, ErrNeedsLogin) || w.handle.Authorization() != "" {
		t.Fatalf("the login was revoked: %d, %+v", status, v)
	}
	w.store.until(t, "the store has forgotten the token, and no more", func() bool {
		r, ok := decode(w.store.values["files"], w.server.URL, oauth.Config{})
		return ok && r.Token.Access == "" && len(r.Clients) == 1
	})
	w.logIn()
	if n := len(w.issuer.Seen("/register")); n != 1 {
		t.Errorf("registered %d times", n)
	}
}

// Another process has renewed the login with the refresh token that we have as well.
func TestLoginOfAnotherProcessIsTakenOver(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.logIn()
	kept := w.store.get("files")
	other := w.opts
	other.Login.Lane, other.Stored = "other", kept
	h := w.spawn(other)
	settled(h)
	w.issuer.Revoke(false)
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, v)
	}
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "invalid_grant" }) // as it is used up; that one forgives
	if status, v := w.get(h); status != http.StatusOK || h.Authorization() != w.handle.Authorization() {
		t.Fatalf("%d, %+v", status, v)
	}
}

func TestDiskBeforeUse(t *testing.T) {
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
		t.Fatalf("the store has not answered: %+v", v)
	case <-time.After(50 * time.Millisecond):
	}
	if w.handle.Authorization() != sent {
		t.Error("a token is used that came with a refresh token which is not on disk")
	}
	var asked uint64
	w.store.until(t, "the store was asked", func() bool {
		asked = w.store.last
		return w.store.order[len(w.store.order)-1] == "remember" && asked != before
	})
	w.handle.Actor().Tell(message.TokenStored{Key: "files", Number: asked, Err: "the disk is full"})
	if v := <-verdict; !v.Again || w.handle.Authorization() == sent {
		t.Errorf("what cannot be kept is not used either: %+v", v)
	}
}

func TestRobot(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, func(o *Options) {
		o.Robot, o.Agent.Config = true, oauth.Config{ClientID: "robot", Secret: "secret"}
	})
	w.issuer.Client("robot", "secret")
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, v)
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"write"} })
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Errorf("a wider scope: %d, %+v", status, v)
	}
	if began := w.begin("local"); began.Err == nil || began.Hint == "" {
		t.Error("a person may log in as a robot")
	}
}

func TestStepUp(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"read"} })
	w.get(w.handle)
	w.logIn()
	if status, v := w.get(w.handle); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, v)
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"write"} })
	status, v := w.get(w.handle)
	if status != http.StatusForbidden || !errors.Is(v.Err, ErrScope) || w.handle.Authorization() == "" {
		t.Fatalf("%d, %+v", status, v)
	}
	w.logIn()
	if status, v = w.get(w.handle); status != http.StatusOK {
		t.Fatalf("%d, %+v", status, v)
	}
	if _, scopes, _ := w.issuer.Valid(w.handle.Authorization()[len("Bearer "):]); !slices.Equal(scopes, []string{"read", "write"}) {
		t.Errorf("the login has the scopes %q", scopes)
	}
	for _, scope := range []string{"a", "b"} {
		w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{scope} })
		w.get(w.handle)
		w.logIn()
	}
	w.server.Set(func(p *authtest.Protection) { p.Scopes = []string{"d"} })
	if _, v = w.get(w.handle); !errors.Is(v.Err, ErrScope) {
		t.Errorf("there is no end to it: %+v", v)
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
		t.Fatalf("%d, %+v", status, v)
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
		t.Error("something of the login is left")
	}
	w.store.until(t, "the store has nothing of it", func() bool { return w.store.values["files"] == nil })
}

// What somebody else brings finishes nobody's login, and a login has one answer.
func TestLoginIsBoundToWhoBeganIt(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	began := w.begin("ada")
	answer := w.issuer.Approve(t, began.URL)
	if done := w.finish("eve", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("eve finishes ada's login: %v", done.Err)
	}
	if done := w.finish("ada", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("a login that somebody else has seen goes on: %v", done.Err)
	}
	began = w.begin("ada")
	answer = w.issuer.Approve(t, began.URL)
	if done := w.finish("ada", answer); done.Err != nil {
		t.Fatal(done.Err)
	}
	if done := w.finish("ada", answer); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("the same answer twice: %v", done.Err)
	}
	if n := w.opts.Budget.taken.Load(); n != 0 {
		t.Errorf("%d logins are said to be under way", n)
	}
}

func TestLoginsUnderWayAreBounded(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	first := w.begin("ada")
	for range maxLoginsOfOne {
		if began := w.begin("ada"); began.Err != nil {
			t.Fatal(began.Err)
		}
	}
	if done := w.finish("ada", w.issuer.Approve(t, first.URL)); !errors.Is(done.Err, oauth.ErrState) {
		t.Errorf("the oldest goes on: %v", done.Err)
	}
	if n := w.report().Pending; n != maxLoginsOfOne {
		t.Errorf("%d are under way", n)
	}
	if n := w.opts.Budget.taken.Load(); n != maxLoginsOfOne {
		t.Errorf("%d are counted", n)
	}
	w.opts.Budget.taken.Store(maxLoginsOverall)
	if began := w.begin("bob"); !errors.Is(began.Err, ErrTooMany) {
		t.Errorf("got %v", began.Err)
	}
}

// Whoever waits when the actor goes is answered.
func TestStoppingAnswers(t *testing.T) {
	w := newWorld(t, authtest.Faults{TokenDelay: 300 * time.Millisecond}, nil)
	w.logIn()
	verdict := w.handle.Refused(w.handle.Authorization(), http.StatusUnauthorized, nil)
	w.report()
	actortest.Stop(t, w.system)
	if v := <-verdict; v.Again || v.Err == nil {
		t.Errorf("got %+v", v)
	}
	if v := <-w.handle.Refused("Bearer x", http.StatusUnauthorized, nil); v.Err == nil {
		t.Errorf("got %+v", v)
	}
	if done := w.finish("ada", url.Values{}); done.Err == nil {
		t.Error("a login is finished by nobody")
	}
}

var _ kernel.Logic = (*shell)(nil)

// An authorization server that has forgotten us is registered at anew.
func TestForgottenRegistration(t *testing.T) {
	w := newWorld(t, authtest.Faults{}, nil)
	began := w.begin("ada")
	answer := w.issuer.Approve(t, began.URL)
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "invalid_client" })
	if done := w.finish("ada", answer); done.Err == nil || done.Hint == "" {
		t.Fatalf("got %v", done.Err)
	}
	w.issuer.Set(func(f *authtest.Faults) { f.TokenError = "" })
	w.logIn()
	if n := len(w.issuer.Seen("/register")); n != 2 {
		t.Errorf("registered %d times", n)
	}
}

// What is secret of a login is told before it is used, what it takes the place of as well, and nothing of it any more when it has ended.
func TestSecretsOfALoginAreTold(t *testing.T) {
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
		t.Fatalf("told %d values", len(first))
	}
	w.issuer.Revoke(false)
	if v := <-w.handle.Refused(sent, http.StatusUnauthorized, nil); !v.Again {
		t.Fatal(v)
	}
	if is, was := told(); len(is) != 3 || "Bearer "+is[0] != w.handle.Authorization() || is[0] == first[0] || !slices.Equal(was, first) {
		t.Errorf("after the renewal %d values are told, and %d of before", len(is), len(was))
	}
	reply := make(chan message.LoginFinished, 1)
	w.handle.Actor().Tell(message.EndLogin{Reply: reply})
	<-reply
	if is, was := told(); len(is) != 0 || len(was) != 3 {
		t.Errorf("after the end %d values are told, and %d of before", len(is), len(was))
	}
}
