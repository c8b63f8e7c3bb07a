package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol/upstream"
)

const enforce = "enforce"

// swapped is a policy of two roles, of which one is bound to whoever is not asked.
func swapped(mode string, ann, bob config.Role, mine string) config.Policy {
	ann.Name, bob.Name = "ann", "bob"
	return config.Policy{Present: true, Mode: mode, Roles: []config.Role{ann, bob}, Bind: []config.Binding{{Role: mine, Local: true}}}
}

// Attack 41: a reload swaps what two roles mean, and who has which, so that whoever is connected may do afterwards what he might before. His rights are told
// before the registry hears of the policy, or after: at no moment is he shown, or may he call, what the one policy gives by the names of the other.
func TestAttack41RolesChangePlaces(t *testing.T) {
	narrow, wide := config.Role{Servers: []string{"one"}}, config.Role{}
	policies := []config.Policy{swapped(enforce, wide, narrow, "bob"), swapped(enforce, narrow, wide, "ann")}
	var cfg config.Config
	w := serveWeb(t, map[string]*actortest.Server{"one": answering("a"), "two": answering("b")}, func(c *config.Config) {
		withAuth(c)
		c.Policy = policies[0]
		cfg = *c
	})
	tells := func(i int) {
		w.changed(w.people.is("eve", func(p *identity.Principal) {
			p.Rights, p.Policy = policies[i].Bind[0].Role, policy.Compile(policies[i])
		}))
	}
	reloads := func(i int) {
		next := cfg
		next.Policy = policies[i]
		if err := w.gateway.Apply(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
	}
	tells(0)
	id := w.opens("eve", "/mcp")
	sees := func(when string) {
		t.Helper()
		session := by("eve", "Mcp-Session-Id", id)
		for _, list := range []string{w.do("POST", "/mcp", listFrame, session...).body, w.modernly("eve", "tools/list", "{}", "").body} {
			if got := listOf(list); got != "[one_a]" {
				t.Errorf("%s: %s", when, got)
			}
		}
		for server, may := range map[string]bool{"one_a": true, "two_b": false} {
			for _, call := range []reply{
				w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"`+server+`","arguments":{}}}`, session...),
				w.modernly("eve", "tools/call", "{}", `,"name":"`+server+`","arguments":{}`),
			} {
				if strings.Contains(call.body, `"result"`) != may {
					t.Errorf("%s: %s", when, call.body)
				}
			}
		}
	}
	sees("before")
	for i, first := range []func(int){tells, reloads, tells} {
		next := (i + 1) % 2
		first(next)
		sees(fmt.Sprintf("change %d, half of which is known", i))
		tells(next)
		reloads(next)
		sees(fmt.Sprintf("change %d", i))
	}
}

// S5.2.4: A policy that was answered for is in force for whoever is not asked, however lately the catalog has been published.
func TestAPolicyThatWasAnsweredIsInForce(t *testing.T) {
	within(func(t *testing.T) {
		one, two := answering("a"), answering("b")
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		narrow, wide := config.Role{Servers: []string{"one"}}, config.Role{}
		var first config.Config
		h := openIn(t, "", openers, "stdio", Options{}, func(c *config.Config) {
			c.Policy = swapped(enforce, wide, narrow, "bob")
			first = *c
		})
		defer h.close()
		h.initialize()
		sees := func(when, want string) {
			t.Helper()
			for _, frame := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")} {
				got := h.one(frame)
				for _, server := range []string{"one", "two"} {
					if strings.Contains(got, `"goblin-actor/server":"`+server+`"`) != strings.Contains(want, server) {
						t.Errorf("%s: of server %s in %s", when, server, got)
					}
				}
			}
			for _, frame := range []string{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"two_b","arguments":{}}}`, modern(4, "tools/call", "{}", `,"name":"two_b","arguments":{}`)} {
				if got := h.one(frame); strings.Contains(got, "Tool not found") == strings.Contains(want, "two") {
					t.Errorf("%s: %s", when, got)
				}
			}
		}
		sees("before", "one")
		for i, c := range []struct {
			when   string
			policy config.Policy
			sees   string
		}{
			{"the roles have changed places", swapped(enforce, narrow, wide, "ann"), "one"},
			{"and again", swapped(enforce, wide, narrow, "bob"), "one"},
			{"a role of the same name means more", swapped(enforce, narrow, wide, "bob"), "one two"},
			{"it means less", swapped(enforce, narrow, narrow, "bob"), "one"},
			{"what it keeps back is only reported", swapped("report", narrow, wide, "ann"), "one two"},
			{"it is kept back again", swapped(enforce, narrow, wide, "ann"), "one"},
		} {
			time.Sleep(time.Second)
			one.SetTools(true, "a", fmt.Sprint("a", i)) // the registry has just published: it holds back what comes
			h.got()
			next := first
			next.Policy = c.policy
			if err := h.gateway.Apply(t.Context(), &next); err != nil {
				t.Fatal(err)
			}
			h.got() // and no time passes
			sees(c.when, c.sees)
		}
	})(t)
}
