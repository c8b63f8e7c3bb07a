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

// swappedRoles returns a policy with the roles ann and bob. Unauthenticated clients have the role that the parameter mine
// names.
func swappedRoles(mode string, ann, bob config.Role, mine string) config.Policy {
	ann.Name, bob.Name = "ann", "bob"
	return config.Policy{Present: true, Mode: mode, Roles: []config.Role{ann, bob}, Bind: []config.Binding{{Role: mine, Local: true}}}
}

// Attack 41: a reload swaps the contents of two roles and their assignment, so that a connected client has the same rights afterwards.
// Its rights may change before or after the registry gets the policy. At no time can the client see or call items that its role has
// only in the other policy.
func TestAttack41SwappedRoles(t *testing.T) {
	narrow, wide := config.Role{Servers: []string{"one"}}, config.Role{}
	policies := []config.Policy{swappedRoles(enforce, wide, narrow, "bob"), swappedRoles(enforce, narrow, wide, "ann")}
	var cfg config.Config
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a"), "two": answeringServer("b")}, func(c *config.Config) {
		withAuth(c)
		c.Policy = policies[0]
		cfg = *c
	})
	setRights := func(i int) {
		w.updatePrincipal(w.people.set("eve", func(p *identity.Principal) {
			p.Rights, p.Policy = policies[i].Bind[0].Role, policy.Compile(policies[i])
		}))
	}
	reload := func(i int) {
		next := cfg
		next.Policy = policies[i]
		if err := w.gateway.Apply(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
	}
	setRights(0)
	id := w.openAs("eve", "/mcp")
	sees := func(when string) {
		t.Helper()
		session := asUser("eve", "Mcp-Session-Id", id)
		for _, list := range []string{w.do("POST", "/mcp", listFrame, session...).body, w.modernAs("eve", "tools/list", "{}", "").body} {
			if got := listOf(list); got != "[one_a]" {
				t.Errorf("%s: %s", when, got)
			}
		}
		for server, may := range map[string]bool{"one_a": true, "two_b": false} {
			for _, call := range []reply{
				w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"`+server+`","arguments":{}}}`, session...),
				w.modernAs("eve", "tools/call", "{}", `,"name":"`+server+`","arguments":{}`),
			} {
				if strings.Contains(call.body, `"result"`) != may {
					t.Errorf("%s: %s", when, call.body)
				}
			}
		}
	}
	sees("before")
	for i, first := range []func(int){setRights, reload, setRights} {
		next := (i + 1) % 2
		first(next)
		sees(fmt.Sprintf("change %d, half applied", i))
		setRights(next)
		reload(next)
		sees(fmt.Sprintf("change %d", i))
	}
}

// S5.2.4: after Apply has returned, the policy is in force for unauthenticated clients, even if the catalog was published just
// before.
func TestAppliedPolicyIsInForce(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := answeringServer("a"), answeringServer("b")
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		narrow, wide := config.Role{Servers: []string{"one"}}, config.Role{}
		var first config.Config
		h := startStdioInProject(t, "", openers, "stdio", Options{}, func(c *config.Config) {
			c.Policy = swappedRoles(enforce, wide, narrow, "bob")
			first = *c
		})
		defer h.close()
		h.initialize()
		sees := func(when, want string) {
			t.Helper()
			for _, frame := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")} {
				got := h.roundTrip(frame)
				for _, server := range []string{"one", "two"} {
					if strings.Contains(got, `"goblin-actor/server":"`+server+`"`) != strings.Contains(want, server) {
						t.Errorf("%s: items of server %s in %s", when, server, got)
					}
				}
			}
			for _, frame := range []string{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"two_b","arguments":{}}}`, modern(4, "tools/call", "{}", `,"name":"two_b","arguments":{}`)} {
				if got := h.roundTrip(frame); strings.Contains(got, "Tool not found") == strings.Contains(want, "two") {
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
			{"roles swapped", swappedRoles(enforce, narrow, wide, "ann"), "one"},
			{"roles swapped back", swappedRoles(enforce, wide, narrow, "bob"), "one"},
			{"a role has more rights", swappedRoles(enforce, narrow, wide, "bob"), "one two"},
			{"the role has fewer rights", swappedRoles(enforce, narrow, narrow, "bob"), "one"},
			{"report mode", swappedRoles("report", narrow, wide, "ann"), "one two"},
			{"enforce mode again", swappedRoles(enforce, narrow, wide, "ann"), "one"},
		} {
			time.Sleep(time.Second)
			one.SetTools(true, "a", fmt.Sprint("a", i)) // the registry has just published, so it delays the next publication
			h.received()
			next := first
			next.Policy = c.policy
			if err := h.gateway.Apply(t.Context(), &next); err != nil {
				t.Fatal(err)
			}
			h.received() // no time passes
			sees(c.when, c.sees)
		}
	})(t)
}
