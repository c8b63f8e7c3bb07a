package actors

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
)

// guarded is a server behind a real authorization server, at which each principal has a login of its own.
type guarded struct {
	t      *testing.T
	issuer *authtest.Issuer
	server *authtest.Server
}

func newGuarded(t *testing.T, inner http.HandlerFunc) *guarded {
	g := &guarded{t: t, issuer: authtest.New(t, authtest.Faults{})}
	g.server = g.issuer.Protect(t, inner)
	return g
}

func (g *guarded) serve(state string, change func(*Options), set ...func(*config.Config)) *web {
	return serveVault(g.t, newVault(g.t), state, func(s *config.Server, o *Options) {
		s.Isolation, s.Auth.Type, s.Auth.As, s.MaxBackends = "principal", "oauth", "principal", 64
		s.URLs, o.Logins = []string{g.server.URL}, nil
		if change != nil {
			change(o)
		}
	}, set...)
}

// person is who has the key of that name; behind a # may stand which of them, as keys are made anew.
func person(name string) *identity.Principal {
	name, which, anew := strings.Cut(name, "#")
	who := &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
	if n, err := strconv.ParseUint(which, 10, 64); err == nil && anew {
		who.Holder = identity.Held(who.ID, n)
	}
	return who
}

// known are principals by id.
func known(names ...string) map[string]*identity.Principal {
	all := map[string]*identity.Principal{}
	for _, name := range names {
		all[person(name).ID] = person(name)
	}
	return all
}

// forgets waits until a token counts no more at the authorization server.
func (g *guarded) forgets(token string) {
	g.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, _, valid := g.issuer.Valid(token); !valid {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatal("the authorization server has not heard that somebody is nobody any more")
		}
	}
}

// logIn logs somebody in, and returns the token that is used from then on.
func (g *guarded) logIn(w *web, who *identity.Principal, catalog bool) {
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

func (g *guarded) last() string {
	served := g.server.Served()
	return served[len(served)-1]
}

// Attack 19: who is revoked loses his login at the servers: in memory, on disk and at the authorization server, whether it is in use or not. Whose key
// has only changed keeps it.
func TestAttack19RevokedKeysLogin(t *testing.T) {
	for _, inUse := range []bool{true, false} {
		g, state := newGuarded(t, newTeller(t).serve), filepath.Join(t.TempDir(), "state")
		w := g.serve(state, nil)
		w.gateway.LoadPrincipals(known("alice", "bob"))
		g.logIn(w, identity.Local, true)
		w.state("ready")
		tokens := map[string]string{}
		for _, name := range []string{"alice", "bob"} {
			g.logIn(w, person(name), false)
			if got := w.modernWho("Authorization", "Bearer "+name); !strings.Contains(got, "who=") {
				t.Fatal(got)
			}
			tokens[name] = g.last()
		}
		restart := func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := w.gateway.Stop(ctx, time.Second); err != nil {
				t.Fatal(err)
			}
			w = g.serve(state, nil)
			w.state("ready")
		}
		if !inUse {
			restart()
			w.gateway.LoadPrincipals(known("alice", "bob"))
		}
		w.gateway.UpdatePrincipals(map[string]*identity.Principal{"key:alice": nil, "key:bob": person("bob")})
		g.forgets(tokens["alice"])
		restart() // who has a key of that name now finds nothing
		if got := w.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "-31008") {
			t.Errorf("in use %t: somebody uses alice's login: %s", inUse, got)
		}
		if got := w.modernWho("Authorization", "Bearer bob"); !strings.Contains(got, "who=") || g.last() != tokens["bob"] {
			t.Errorf("in use %t: bob's login is gone: %s", inUse, got)
		}
	}
}

// S5.1.4: Attack 19: a key is revoked while no gateway runs, and one of the same name is given to somebody else. He gets nothing of what the first one has left
// in the state file: it ends, also at the authorization server. Who has the same key as before keeps his, and so does who has one that is unknown here:
// that may be another gateway's.
func TestAttack19KeyMadeAnewWhileNothingRuns(t *testing.T) {
	for _, told := range []bool{true, false} { // of who there is
		g, state := newGuarded(t, newTeller(t).serve), filepath.Join(t.TempDir(), "state")
		w := g.serve(state, nil)
		g.logIn(w, identity.Local, true)
		w.state("ready")
		tokens := map[string]string{}
		for _, name := range []string{"alice#1", "bob#1", "carol#1"} {
			g.logIn(w, person(name), false)
			if got := w.modernWho("Authorization", "Bearer "+name); !strings.Contains(got, "who=") {
				t.Fatal(got)
			}
			tokens[name] = g.last()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.gateway.Stop(ctx, time.Second); err != nil {
			t.Fatal(err)
		}
		w = g.serve(state, nil)
		w.state("ready")
		if told {
			w.gateway.LoadPrincipals(known("alice#2", "bob#1"))
			g.forgets(tokens["alice#1"])
		}
		if got := w.modernWho("Authorization", "Bearer alice#2"); !strings.Contains(got, "-31008") {
			t.Errorf("told %t: somebody uses alice's login: %s", told, got)
		}
		if got := w.modernWho("Authorization", "Bearer bob#1"); !strings.Contains(got, "who=") || g.last() != tokens["bob#1"] {
			t.Errorf("told %t: bob's login is gone: %s", told, got)
		}
		if _, _, valid := g.issuer.Valid(tokens["carol#1"]); !valid {
			t.Errorf("told %t: carol's login has ended", told)
		}
	}
}

// A login by device that is finished elsewhere is in the audit log, also when nobody waits for it: the person's command was interrupted.
func TestALoginThatNobodyWaitsForIsRecorded(t *testing.T) {
	path, set := audited(t, nil)
	t.Run("while it runs", func(t *testing.T) {
		g := newGuarded(t, newTeller(t).serve)
		g.issuer.Set(func(f *authtest.Faults) { f.Polls = 1 })
		w := g.serve("", nil, set)
		for _, waits := range []bool{false, true} {
			begun, err := w.gateway.BeginLogin(t.Context(), login.Request{Server: "one", Who: person("alice"), Device: true})
			if err != nil {
				t.Fatal(err)
			}
			if waits {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := w.gateway.FinishLogin(ctx, login.Answer{Login: begun.Login, Who: person("alice"), State: begun.State}); err == nil {
					t.Error("an interrupted wait has an end")
				}
			}
			want := uint64(3) // the file, the start, the login
			if waits {
				want++
			}
			w.eventually("the login is recorded", func() bool { return w.gateway.Audit().State().Sequence >= want })
		}
	})
	want := []string{"start", "login key:alice one ok", "login key:alice one ok", "stop"}
	if got := told(auditLines(t, path)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
