package actors

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
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

func person(name string) *identity.Principal {
	return &identity.Principal{ID: "key:" + name, Name: name, Via: identity.ViaKey}
}

// logIn logs somebody in, and returns the token that is used from then on.
func (g *guarded) logIn(w *web, who *identity.Principal, catalog bool) {
	g.t.Helper()
	begun, err := w.gateway.BeginLogin(g.t.Context(), login.Wish{Server: "one", Who: who, Catalog: catalog, Redirect: "http://127.0.0.1:1/back"})
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
		}
		w.gateway.Principals(map[string]*identity.Principal{"key:alice": nil, "key:bob": person("bob")})
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, _, valid := g.issuer.Valid(tokens["alice"]); !valid {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the authorization server has not heard that alice is nobody any more")
			}
		}
		restart() // who has a key of that name now finds nothing
		if got := w.modernWho("Authorization", "Bearer alice"); !strings.Contains(got, "-31008") {
			t.Errorf("in use %t: somebody uses alice's login: %s", inUse, got)
		}
		if got := w.modernWho("Authorization", "Bearer bob"); !strings.Contains(got, "who=") || g.last() != tokens["bob"] {
			t.Errorf("in use %t: bob's login is gone: %s", inUse, got)
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
			begun, err := w.gateway.BeginLogin(t.Context(), login.Wish{Server: "one", Who: person("alice"), Device: true})
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
