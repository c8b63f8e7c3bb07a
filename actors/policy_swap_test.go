package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// S5.2.4, attack 41: a reload swaps what two roles mean, and who has which, so that whoever is connected may do afterwards what he might before. At no moment is he
// shown, or may he call, what the one policy gives him by the names of the other: not before the registry has published anything either, which it
// does 250 ms later at most.
func TestAttack41RolesChangePlaces(t *testing.T) {
	within(func(t *testing.T) {
		one, two := answering("a"), answering("b")
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		narrow, wide := config.Role{Servers: []string{"one"}}, config.Role{}
		under := func(ann, bob config.Role, mine string) config.Policy {
			ann.Name, bob.Name = "ann", "bob"
			return config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{ann, bob}, Bind: []config.Binding{{Role: mine, Local: true}}}
		}
		reported := func(ann, bob config.Role, mine string) config.Policy {
			p := under(ann, bob, mine)
			p.Mode = "report"
			return p
		}
		var first config.Config
		h := openIn(t, "", openers, "stdio", Options{}, func(c *config.Config) {
			c.Policy = under(wide, narrow, "bob")
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
			{"the roles have changed places", under(narrow, wide, "ann"), "one"},
			{"and again", under(wide, narrow, "bob"), "one"},
			{"a role of the same name means more", under(narrow, wide, "bob"), "one two"},
			{"it means less", under(narrow, narrow, "bob"), "one"},
			{"what it keeps back is only reported", reported(narrow, wide, "ann"), "one two"},
			{"it is kept back again", under(narrow, wide, "ann"), "one"},
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
