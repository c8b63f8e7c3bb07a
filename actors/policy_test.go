package actors

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/upstream"
)

// roles is a policy that gives "reader" the tools of one that are not for wiping, and "ops" those of both, within a project.
func roles(c *config.Config) {
	c.Policy = config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{
		{Name: "ops", Projects: []string{"alpha"}}, {Name: "reader", Servers: []string{"one"}, Tools: config.Filter{Deny: []string{"*wipe"}}, ToolRate: "2/min"}}}
	c.Projects = []config.Project{{Name: "alpha"}, {Name: "gamma"}}
}

// as gives somebody the rights.
func (w *web) as(name, rights string) {
	w.people.is(name, func(p *identity.Principal) { p.Rights = rights })
}

// What no role permits is answered with the bytes of what does not exist, in both eras, on every path.
func TestHiddenIsAsWhatIsNot(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"read", "wipe"}}, "two": {Tools: []string{"read", "eat"}}}, func(c *config.Config) { withAuth(c); roles(c) })
	w.as("ann", "reader")
	session := w.opens("ann", "/mcp")
	legacy := func(method, params string) reply {
		return w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{`+params+`}}`, by("ann", "Mcp-Session-Id", session)...)
	}
	if got := legacy("tools/list", "").body; !strings.Contains(got, "one_read") || strings.Contains(got, "wipe") || strings.Contains(got, "two") {
		t.Fatalf("listed: %s", got)
	}
	if got := legacy("tools/call", `"name":"one_read","arguments":{}`); !strings.Contains(got.body, `"result"`) {
		t.Errorf("what is permitted: %+v", got)
	}
	same := func(what, hidden, missing string, ask func(name string) reply) {
		t.Helper()
		got, want := ask(hidden), ask(missing)
		got.body, want.body = strings.ReplaceAll(got.body, hidden, "it"), strings.ReplaceAll(want.body, missing, "it")
		got.session, want.session = "", ""
		if got != want {
			t.Errorf("%s: hidden %+v, missing %+v", what, got, want)
		}
	}
	for hidden, missing := range map[string]string{"one_wipe": "one_none", "one:wipe": "one:none", "one/wipe": "one/none", "two_eat": "six_eat", "two:eat": "six:eat", "two:eat@0": "six:eat@0", "eat": "nix"} {
		same("call", hidden, missing, func(name string) reply { return legacy("tools/call", `"name":"`+name+`","arguments":{}`) })
		same("modern call", hidden, missing, func(name string) reply {
			return w.modernly("ann", "tools/call", "{}", `,"name":"`+name+`","arguments":{}`)
		})
	}
	same("server", "two", "six", func(name string) reply { return w.do("POST", "/s/"+name+"/mcp", initializeFrame, by("ann")...) })
	w.as("bob", "ops")
	if got := w.do("POST", "/p/alpha/mcp", initializeFrame, by("bob")...); got.status != 200 {
		t.Errorf("bob in alpha: %+v", got)
	}
	same("project", "gamma", "omega", func(name string) reply { return w.do("POST", "/p/"+name+"/mcp", initializeFrame, by("bob")...) })
	if got := legacy("frobnicate/it", ""); !strings.Contains(got.body, "-32601") {
		t.Errorf("a method that nobody knows, with one server in view: %s", got.body)
	}
	var b strings.Builder
	if err := w.gateway.Metrics().Write(&b); err != nil || !strings.Contains(b.String(), `goblin_policy_denied_total{server="two",kind="tools",mode="enforce"}`) {
		t.Errorf("not counted: %v", err)
	}
}

// S5.2.2: Calls of a tool are limited for each principal over all of its connections, in both eras; HTTP says so to modern clients.
func TestToolRateOverHTTP(t *testing.T) {
	w := serveWeb(t, map[string]*actortest.Server{"one": {Tools: []string{"read"}}}, func(c *config.Config) { withAuth(c); roles(c) })
	w.as("ann", "reader")
	w.as("bob", "reader")
	for i := range 4 {
		session := w.opens("ann", "/mcp")
		got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_read","arguments":{}}}`, by("ann", "Mcp-Session-Id", session)...)
		if strings.Contains(got.body, "RATE_LIMITED") != (i > 1) || i > 1 && !strings.Contains(got.body, `"retryAfterMs"`) {
			t.Errorf("call %d: %+v", i, got)
		}
	}
	if got := w.modernly("ann", "tools/call", "{}", `,"name":"one_read","arguments":{}`); got.status != 429 || got.retryAfter == "" || !strings.Contains(got.body, "-31014") {
		t.Errorf("modern: %+v", got)
	}
	if got := w.modernly("bob", "tools/call", "{}", `,"name":"one_read","arguments":{}`); got.status != 200 {
		t.Errorf("somebody else: %+v", got)
	}
}

// Who comes back with the answers goes on with a call that was counted; the same state again and again is as many calls.
func TestAttack56RateOfStates(t *testing.T) {
	w := serveWeb(t, oneTool(), func(c *config.Config) { withAuth(c); roles(c) }, relaying().Open)
	w.as("ann", "reader")
	const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"a":{"action":"accept","content":{}}}`
	first := parseModern(t, w.modernly("ann", "tools/call", allCapabilities, call).body)
	if first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	done := 0
	for range 40 {
		got := w.modernly("ann", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState))
		if strings.Contains(got.body, "done") {
			done++
		} else if !strings.Contains(got.body, "-31014") {
			t.Fatalf("%+v", got)
		}
	}
	if most := 1 + runtime.GOMAXPROCS(0); done < 1 || done > most { // one that the rate permits still, and one at each desk
		t.Errorf("%d calls of at most %d", done, most)
	}
}

// S5.2.4: A policy that comes, changes and goes is seen by who is connected at once: the lists change, each client is told once, and who
// may not see what has changed is told nothing.
func TestPolicyReload(t *testing.T) {
	within(func(t *testing.T) {
		one, two := answering("a"), answering("b")
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		var first config.Config
		h := openIn(t, "", openers, "stdio", Options{}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		list, modernList := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")
		h.send(modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`))
		h.got()
		reload := func(p config.Policy) string {
			next := first
			next.Policy = p
			for range 2 {
				h.gateway.Reload(&next)
				time.Sleep(time.Second)
			}
			return strings.Join(h.got(), "\n")
		}
		role := config.Role{Name: "some", Servers: []string{"one"}}
		bound := []config.Binding{{Role: "some", Local: true}}
		for _, c := range []struct {
			what   string
			policy config.Policy
			told   int
			sees   string
		}{
			{"a policy that gives nobody anything", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}}, 2, ""},
			{"a role", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
			{"the same by other words", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{{Name: "some", Servers: []string{"on*"}}}, Bind: bound}, 0, "one"},
			{"only reported", config.Policy{Present: true, Mode: "report", Roles: []config.Role{role}, Bind: bound}, 2, "one two"},
			{"enforced again", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
			{"none", config.Policy{}, 2, "one two"},
			{"a role where there was no policy", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
		} {
			if got := reload(c.policy); strings.Count(got, "tools/list_changed") != c.told {
				t.Errorf("%s: told %s", c.what, got)
			}
			for _, frame := range []string{list, modernList} {
				got := h.one(frame)
				for _, server := range []string{"one", "two"} {
					if strings.Contains(got, `"goblin-actor/server":"`+server+`"`) != strings.Contains(c.sees, server) {
						t.Errorf("%s: %s of server %s in %s", c.what, frame, server, got)
					}
				}
			}
			if c.sees == "one" {
				two.SetTools(true, "b", c.what)
				time.Sleep(time.Second)
				if got := h.got(); len(got) > 0 {
					t.Errorf("%s: told of what is hidden: %v", c.what, got)
				}
			}
		}
	})(t)
}
