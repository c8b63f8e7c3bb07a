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

// withRoles configures a policy. Role reader has the tools of server one except those that match *wipe. Role ops has all
// tools within project alpha.
func withRoles(c *config.Config) {
	c.Policy = config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{
		{Name: "ops", Projects: []string{"alpha"}}, {Name: "reader", Servers: []string{"one"}, Tools: config.Filter{Deny: []string{"*wipe"}}, ToolRate: "2/min"}}}
	c.Projects = []config.Project{{Name: "alpha"}, {Name: "gamma"}}
}

// setRights sets a principal's rights.
func (w *httpHarness) setRights(name, rights string) {
	w.people.set(name, func(p *identity.Principal) { p.Rights = rights })
}

// An item that no role permits gets the same response as one that does not exist, in both eras, on every path.
func TestHiddenItemsLookMissing(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"read", "wipe"}}, "two": {Tools: []string{"read", "eat"}}}, func(c *config.Config) { withAuth(c); withRoles(c) })
	w.setRights("ann", "reader")
	session := w.openAs("ann", "/mcp")
	legacy := func(method, params string) reply {
		return w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":{`+params+`}}`, asUser("ann", "Mcp-Session-Id", session)...)
	}
	if got := legacy("tools/list", "").body; !strings.Contains(got, "one_read") || strings.Contains(got, "wipe") || strings.Contains(got, "two") {
		t.Fatalf("list: %s", got)
	}
	if got := legacy("tools/call", `"name":"one_read","arguments":{}`); !strings.Contains(got.body, `"result"`) {
		t.Errorf("a permitted tool: %+v", got)
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
			return w.modernAs("ann", "tools/call", "{}", `,"name":"`+name+`","arguments":{}`)
		})
	}
	same("server", "two", "six", func(name string) reply { return w.do("POST", "/s/"+name+"/mcp", initializeFrame, asUser("ann")...) })
	w.setRights("bob", "ops")
	if got := w.do("POST", "/p/alpha/mcp", initializeFrame, asUser("bob")...); got.status != 200 {
		t.Errorf("bob in alpha: %+v", got)
	}
	same("project", "gamma", "omega", func(name string) reply { return w.do("POST", "/p/"+name+"/mcp", initializeFrame, asUser("bob")...) })
	if got := legacy("frobnicate/it", ""); !strings.Contains(got.body, "-32601") {
		t.Errorf("an unknown method, with one visible server: %s", got.body)
	}
	var b strings.Builder
	if err := w.gateway.Metrics().Write(&b); err != nil || !strings.Contains(b.String(), `goblin_policy_denied_total{server="two",kind="tools",mode="enforce"}`) {
		t.Errorf("the denial was not counted: %v", err)
	}
}

// S5.2.2: calls of a tool are limited for each principal over all its connections, in both eras. Modern clients get HTTP
// 429.
func TestToolRateOverHTTP(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": {Tools: []string{"read"}}}, func(c *config.Config) { withAuth(c); withRoles(c) })
	w.setRights("ann", "reader")
	w.setRights("bob", "reader")
	for i := range 4 {
		session := w.openAs("ann", "/mcp")
		got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_read","arguments":{}}}`, asUser("ann", "Mcp-Session-Id", session)...)
		if strings.Contains(got.body, "RATE_LIMITED") != (i > 1) || i > 1 && !strings.Contains(got.body, `"retryAfterMs"`) {
			t.Errorf("call %d: %+v", i, got)
		}
	}
	if got := w.modernAs("ann", "tools/call", "{}", `,"name":"one_read","arguments":{}`); got.status != 429 || got.retryAfter == "" || !strings.Contains(got.body, "-31014") {
		t.Errorf("modern: %+v", got)
	}
	if got := w.modernAs("bob", "tools/call", "{}", `,"name":"one_read","arguments":{}`); got.status != 200 {
		t.Errorf("another principal: %+v", got)
	}
}

// A retry with answers continues a call that was counted. Each further use of the same state counts as another call.
func TestAttack56RateOfRequestStates(t *testing.T) {
	w := startHTTP(t, oneTool(), func(c *config.Config) { withAuth(c); withRoles(c) }, relayingServer().Open)
	w.setRights("ann", "reader")
	const call, accept = `,"name":"one_ask","arguments":{"a":1}`, `,"inputResponses":{"a":{"action":"accept","content":{}}}`
	first := parseModern(t, w.modernAs("ann", "tools/call", allCapabilities, call).body)
	if first.Result.RequestState == "" {
		t.Fatalf("%+v", first)
	}
	done := 0
	for range 40 {
		got := w.modernAs("ann", "tools/call", allCapabilities, fmt.Sprintf(`%s%s,"requestState":%q`, call, accept, first.Result.RequestState))
		if strings.Contains(got.body, "done") {
			done++
		} else if !strings.Contains(got.body, "-31014") {
			t.Fatalf("%+v", got)
		}
	}
	if most := 1 + runtime.GOMAXPROCS(0); done < 1 || done > most { // the rate permits one more, and each stateless session accepts the state once
		t.Errorf("%d calls succeeded, want 1 to %d", done, most)
	}
}

// S5.2.4: when a policy is added, changed or removed, connected clients see the new lists at once and are notified once. They are not
// notified of changes in lists that they may not see.
func TestPolicyReload(t *testing.T) {
	inBubble(func(t *testing.T) {
		one, two := answeringServer("a"), answeringServer("b")
		openers := map[string]func(upstream.Sink) upstream.Link{"one": one.Open, "two": two.Open}
		var first config.Config
		h := startStdioInProject(t, "", openers, "stdio", Options{}, func(c *config.Config) { first = *c })
		defer h.close()
		h.initialize()
		list, modernList := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modern(2, "tools/list", "{}", "")
		h.send(modern(9, "subscriptions/listen", "{}", `,"notifications":{"toolsListChanged":true}`))
		h.received()
		reload := func(p config.Policy) string {
			next := first
			next.Policy = p
			for range 2 {
				h.gateway.Reload(&next)
				time.Sleep(time.Second)
			}
			return strings.Join(h.received(), "\n")
		}
		role := config.Role{Name: "some", Servers: []string{"one"}}
		bound := []config.Binding{{Role: "some", Local: true}}
		for _, c := range []struct {
			what   string
			policy config.Policy
			count  int
			sees   string
		}{
			{"a policy without bindings", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}}, 2, ""},
			{"a role", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
			{"the same rights by a pattern", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{{Name: "some", Servers: []string{"on*"}}}, Bind: bound}, 0, "one"},
			{"report mode", config.Policy{Present: true, Mode: "report", Roles: []config.Role{role}, Bind: bound}, 2, "one two"},
			{"enforced again", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
			{"no policy", config.Policy{}, 2, "one two"},
			{"a role after no policy", config.Policy{Present: true, Mode: "enforce", Roles: []config.Role{role}, Bind: bound}, 2, "one"},
		} {
			if got := reload(c.policy); strings.Count(got, "tools/list_changed") != c.count {
				t.Errorf("%s: notifications %s", c.what, got)
			}
			for _, frame := range []string{list, modernList} {
				got := h.roundTrip(frame)
				for _, server := range []string{"one", "two"} {
					if strings.Contains(got, `"goblin-actor/server":"`+server+`"`) != strings.Contains(c.sees, server) {
						t.Errorf("%s: %s of server %s in %s", c.what, frame, server, got)
					}
				}
			}
			if c.sees == "one" {
				two.SetTools(true, "b", c.what)
				time.Sleep(time.Second)
				if got := h.received(); len(got) > 0 {
					t.Errorf("%s: notified of a hidden change: %v", c.what, got)
				}
			}
		}
	})(t)
}
