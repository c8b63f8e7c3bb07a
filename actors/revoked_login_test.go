package actors

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
)

// oauthServer is a server that is protected by an authorization server. Each principal has its own login.
type oauthServer struct {
	t      *testing.T
	issuer *authtest.Issuer
	server *authtest.Server
	caller atomic.Value // string: the token of the newest tool call
}

func newOAuthServer(t *testing.T, inner http.HandlerFunc) *oauthServer {
	g := &oauthServer{t: t, issuer: authtest.New(t, authtest.Faults{})}
	g.server = g.issuer.Protect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			g.caller.Store(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner(w, r)
	}))
	return g
}

func (g *oauthServer) start(state string, change func(*Options), set ...func(*config.Config)) *httpHarness {
	return startTokenServer(g.t, newTokenServer(g.t), state, func(s *config.Server, o *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
		s.URLs, o.Logins = []string{g.server.URL}, nil
		if change != nil {
			change(o)
		}
	}, set...)
}

// person returns the principal of the key with that name. A suffix #n selects the n-th key of the same name.
func person(name string) *identity.Principal {
	name, which, numbered := strings.Cut(name, "#")
	who := &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
	if n, err := strconv.ParseUint(which, 10, 64); err == nil && numbered {
		who.Holder = identity.Held(who.ID, n)
	}
	return who
}

// principalsByID returns the named principals by ID.
func principalsByID(names ...string) map[string]*identity.Principal {
	all := map[string]*identity.Principal{}
	for _, name := range names {
		all[person(name).ID] = person(name)
	}
	return all
}

// waitRevoked waits until a token is invalid at the authorization server.
func (g *oauthServer) waitRevoked(token string) {
	g.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, _, valid := g.issuer.Valid(token); !valid {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatal("the token was not revoked at the authorization server")
		}
	}
}

// logIn logs a principal in.
func (g *oauthServer) logIn(w *httpHarness, who *identity.Principal, catalog bool) {
	g.t.Helper()
	begun, err := w.gateway.BeginLogin(g.t.Context(), login.Request{Server: "one", Who: who, Catalog: catalog, Redirect: "http://127.0.0.1:1/back"})
	if err != nil {
		g.t.Fatal(err)
	}
	back := g.issuer.Approve(g.t, begun.URL)
	answer := login.Answer{Login: begun.Login, Who: who, State: back.Get("state"), Code: back.Get("code"), Issuer: back.Get("iss")}
	if err := w.gateway.FinishLogin(g.t.Context(), answer); err != nil {
		g.t.Fatal(err)
	}
}

// lastToken returns the token of the newest tool call. Other requests may come from connections of other principals at any time.
func (g *oauthServer) lastToken() string {
	token, _ := g.caller.Load().(string)
	return token
}

// Attack 19: the logins of a revoked principal end in memory, in the state file and at the authorization server, whether or not they
// are in use. A principal keeps its login if its key has been changed but not replaced.
func TestAttack19RevokedKeysLogin(t *testing.T) {
	for _, inUse := range []bool{true, false} {
		g, state := newOAuthServer(t, newHeaderServer(t).serve), filepath.Join(t.TempDir(), "state")
		w := g.start(state, nil)
		w.gateway.LoadPrincipals(principalsByID("alice", "bob"))
		g.logIn(w, identity.Local, true)
		w.waitServerState("ready")
		tokens := map[string]string{}
		for _, name := range []string{"alice", "bob"} {
			g.logIn(w, person(name), false)
			if got := w.modernWho("Authorization", "Bearer "+name); !strings.Contains(got, "who=") {
				t.Fatal(got)
			}
			tokens[name] = g.lastToken()
		}
		restart := func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := w.gateway.Stop(ctx, time.Second); err != nil {
				t.Fatal(err)
			}
			w = g.start(state, nil)
			w.waitServerState("ready")
		}
		if !inUse {
			restart()
			w.gateway.LoadPrincipals(principalsByID("alice", "bob"))
		}
		w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": nil, "key:bob": person("bob")})
		g.waitRevoked(tokens["alice"])
		restart() // a new key of that name must not find the login
		if got := w.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "-31008") {
			t.Errorf("in use %t: alice's login still works: %s", inUse, got)
		}
		if got := w.modernWho("Authorization", "Bearer bob"); !strings.Contains(got, "who=") || g.lastToken() != tokens["bob"] {
			t.Errorf("in use %t: bob's login was lost: %s", inUse, got)
		}
	}
}

// S5.1.4: Attack 19: a key is replaced by another one of the same name while the gateway is not running. The new key does not get
// the old key's login. Once the principals are loaded, that login is ended in the state file and at the authorization server. Logins
// of unchanged keys stay, and so do those of unknown keys, which may belong to another gateway.
func TestAttack19KeyReplacedWhileStopped(t *testing.T) {
	for _, loaded := range []bool{true, false} { // whether LoadPrincipals is called
		g, state := newOAuthServer(t, newHeaderServer(t).serve), filepath.Join(t.TempDir(), "state")
		w := g.start(state, nil)
		g.logIn(w, identity.Local, true)
		w.waitServerState("ready")
		tokens := map[string]string{}
		for _, name := range []string{"alice#1", "bob#1", "carol#1"} {
			g.logIn(w, person(name), false)
			if got := w.modernWho("Authorization", "Bearer "+name); !strings.Contains(got, "who=") {
				t.Fatal(got)
			}
			tokens[name] = g.lastToken()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.gateway.Stop(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		w = g.start(state, nil)
		w.waitServerState("ready")
		if loaded {
			w.gateway.LoadPrincipals(principalsByID("alice#2", "bob#1"))
			g.waitRevoked(tokens["alice#1"])
		}
		if got := w.modernWho("Authorization", "Bearer alice#2"); !strings.Contains(got, "-31008") {
			t.Errorf("principals loaded %t: alice's old login still works: %s", loaded, got)
		}
		if got := w.modernWho("Authorization", "Bearer bob#1"); !strings.Contains(got, "who=") || g.lastToken() != tokens["bob#1"] {
			t.Errorf("principals loaded %t: bob's login was lost: %s", loaded, got)
		}
		if _, _, valid := g.issuer.Valid(tokens["carol#1"]); !valid {
			t.Errorf("principals loaded %t: carol's login has ended", loaded)
		}
	}
}

// A device login that completes elsewhere is recorded in the audit log even if no caller waits for it, for example because
// its command was interrupted.
func TestUnawaitedLoginIsRecorded(t *testing.T) {
	path, set := withAuditLog(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		g := newOAuthServer(t, newHeaderServer(t).serve)
		g.issuer.Set(func(f *authtest.Faults) { f.Polls = 1 })
		w := g.start("", nil, set)
		for _, waits := range []bool{false, true} {
			begun, err := w.gateway.BeginLogin(t.Context(), login.Request{Server: "one", Who: person("alice"), Device: true})
			if err != nil {
				t.Fatal(err)
			}
			if waits {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := w.gateway.FinishLogin(ctx, login.Answer{Login: begun.Login, Who: person("alice"), State: begun.State}); err == nil {
					t.Error("an interrupted wait succeeded")
				}
			}
			want := uint64(3) // records of the new file, the start of the gateway and the login
			if waits {
				want++
			}
			w.eventually("the login is recorded", func() bool { return w.gateway.Audit().State().Sequence >= want })
		}
	})
	want := []string{"start", "login key:alice one ok", "login key:alice one ok", "stop"}
	if got := auditEvents(auditLines(t, path)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
