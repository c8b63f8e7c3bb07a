package policy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// The highest admin access of the roles applies, regardless of their order.
func TestAdminIsTheHighest(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "a", Admin: "act"}, {Name: "b", Admin: "view"}, {Name: "c", Admin: "none"}, {Name: "d"}, {Name: "e", Admin: "act"}}})
	for rights, want := range map[string]identity.Admin{
		"a": identity.AdminAct, "b": identity.AdminView, "c": identity.AdminNone, "d": identity.AdminNone, "a,b": identity.AdminAct, "b,e": identity.AdminAct, "b,c": identity.AdminView,
		"c,d": identity.AdminNone, "a,b,c,d": identity.AdminAct, "b,c,e": identity.AdminAct, "": identity.AdminNone, "-": identity.AdminNone, "gone": identity.AdminNone, "gone,b": identity.AdminView,
	} {
		for _, local := range []bool{false, true} {
			if got := p.Admin(rights, local); got != want {
				t.Errorf("Admin(%q, %v): got %v, want %v", rights, local, got, want)
			}
		}
	}
}

// A binding applies to unauthenticated clients if its field local is set, and to keys that match one of its globs. No
// glob matches an empty key name.
func TestBindings(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "k"}, {Name: "l"}, {Name: "kl"}},
		Bind: []config.Binding{{Role: "k", Keys: []string{"a*"}}, {Role: "l", Local: true}, {Role: "kl", Local: true, Keys: []string{"*"}}}})
	for _, c := range []struct {
		key   string
		local bool
		want  string
	}{{"a1", false, "k,kl"}, {"b", false, "kl"}, {"", false, "-"}, {"", true, "kl,l"}, {"a1", true, "k,kl,l"}, {"b", true, "kl,l"}} {
		if got := p.Rights(nil, c.key, c.local); got != c.want {
			t.Errorf("Rights of key %q, local %v: got %s, want %s", c.key, c.local, got, c.want)
		}
	}
	if got := p.Bound("a1"); !slices.Equal(got, []string{"k", "kl"}) {
		t.Errorf("Bound(a1): got %v", got)
	}
	if got := p.Bound(""); got != nil {
		t.Errorf("Bound of no key: got %v, want nil", got)
	}
	if got := (*Policy)(nil).Bound("a"); got != nil {
		t.Errorf("Bound without a policy: got %v, want nil", got)
	}
}

// Each kind of restriction is tested alone for its effect on the visibility of servers and projects.
func TestShowsTrustsAndCounts(t *testing.T) {
	all, some := config.Filter{Deny: []string{"*"}}, config.Filter{Allow: []string{"a"}}
	for _, c := range []struct {
		name          string
		role          config.Role
		shows, trusts bool // expected results for server s
	}{
		{"unrestricted", config.Role{}, true, true},
		{"another server", config.Role{Servers: []string{"t"}}, false, false},
		{"this server", config.Role{Servers: []string{"s"}}, true, true},
		{"read-only", config.Role{ReadOnly: true}, true, false},
		{"allowed tools", config.Role{Tools: some}, true, false},
		{"allowed prompts", config.Role{Prompts: some}, true, false},
		{"allowed resources", config.Role{Resources: some}, true, false},
		{"denied tools", config.Role{Tools: all}, true, false},
		{"only allowed items", config.Role{Tools: some, Prompts: some, Resources: some}, false, false},
		{"only allowed items of this server", config.Role{Servers: []string{"s"}, Tools: some, Prompts: some, Resources: some}, true, false},
		{"all denied", config.Role{Tools: all, Prompts: all, Resources: all}, false, false},
		{"all denied but prompts", config.Role{Tools: all, Resources: all}, true, false},
		{"all denied on this server", config.Role{Servers: []string{"s"}, Tools: all, Prompts: all, Resources: all}, false, false},
	} {
		c.role.Name = "r"
		p := Compile(config.Policy{Present: true, Roles: []config.Role{c.role}})
		set := p.InForce("r", "")
		if got := p.Shows(set, "s"); got != c.shows {
			t.Errorf("%s: Shows is %v, want %v", c.name, got, c.shows)
		}
		if got := p.Trusts(set, "s"); got != c.trusts {
			t.Errorf("%s: Trusts is %v, want %v", c.name, got, c.trusts)
		}
		if none := p.InForce("-", ""); p.Shows(none, "s") || p.Trusts(none, "s") || !none.Empty() || set.Empty() {
			t.Errorf("%s: a principal without roles sees or is trusted", c.name)
		}
	}
	c := config.Policy{Present: true, Roles: []config.Role{{Name: "r", Projects: []string{"alpha"}}, {Name: "free"}}}
	for _, x := range []struct {
		rights, project string
		want            bool
	}{{"r", "alpha", true}, {"r", "beta", false}, {"r", "", true}, {"free", "beta", true}, {"-", "alpha", false}, {"-", "", true}, {"gone", "alpha", false}} {
		if got := Compile(c).Counts(x.rights, x.project); got != x.want {
			t.Errorf("Counts(%q, %q): got %v, want %v", x.rights, x.project, got, x.want)
		}
		report := c
		report.Mode = "report"
		if !Compile(report).Counts(x.rights, x.project) || !(*Policy)(nil).Counts(x.rights, x.project) {
			t.Errorf("Counts(%q, %q) is false in report mode or without a policy", x.rights, x.project)
		}
	}
}

// ToolRate is the highest rate of the roles that are in force and permit the item.
func TestToolRates(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{
		{Name: "none"}, {Name: "other", ToolRate: "9/s", Tools: config.Filter{Deny: []string{"*"}}}, {Name: "slow", ToolRate: "1/min"}, {Name: "quick", ToolRate: "2/s"},
	}})
	it := Item{Kind: protocol.Tools, Server: "s", Public: "a", Own: "a"}
	permits := p.Permits(&it)
	for _, c := range []struct {
		rights, want string
		rated        bool
	}{{"none", "", false}, {"slow", "1/min", true}, {"quick,slow", "2/s", true}, {"other", "", true}, {"other,slow", "1/min", true}, {"-", "", false}, {"none,quick", "2/s", true}} {
		set := p.InForce(c.rights, "")
		if got := p.ToolRate(set, permits).String(); got != c.want {
			t.Errorf("ToolRate(%s): got %q, want %q", c.rights, got, c.want)
		}
		if got := p.RatesTools(set); got != c.rated {
			t.Errorf("RatesTools(%s): got %v, want %v", c.rights, got, c.rated)
		}
	}
}

// A decision about a URI names the rule that made it.
func TestExplainURINamesTheRule(t *testing.T) {
	role := config.Role{Name: "r", Servers: []string{"x", "s"}, Projects: []string{"alpha"}, Resources: config.Filter{Allow: []string{"f:///a/*", "f:///b/*"}, Deny: []string{"*.key", "*secret*"}}}
	open := config.Role{Name: "open"}
	denies := config.Role{Name: "denies", Resources: config.Filter{Deny: []string{"*.key"}}}
	p := Compile(config.Policy{Present: true, Roles: []config.Role{role, open, denies}})
	for _, c := range []struct {
		rights, project, server, template, uri, want string
	}{
		{"r", "alpha", "s", "", "f:///a/x", "r permits resources.allow[0]"},
		{"r", "alpha", "s", "", "f:///b/x", "r permits resources.allow[1]"},
		{"r", "alpha", "s", "f:///b/*", "f:///c/x", "r denies resources.allow"},
		{"r", "alpha", "s", "", "f:///c/x", "r denies resources.allow"},
		{"r", "alpha", "s", "", "f:///a/x.key", "r denies resources.deny[0]"},
		{"r", "alpha", "s", "", "f:///a/secrets", "r denies resources.deny[1]"},
		{"r", "alpha", "t", "", "f:///a/x", "r denies servers"},
		{"r", "beta", "s", "", "f:///a/x", "r denies projects"},
		{"open", "beta", "t", "", "f:///c/x", "open permits "},
		{"denies", "", "s", "", "f:///c/x", "denies permits "},
		{"denies", "", "s", "", "f:///c/x.key", "denies denies resources.deny[0]"},
	} {
		verdicts := p.ExplainURI(c.rights, c.project, c.server, c.template, []string{c.uri})
		if len(verdicts) != 1 {
			t.Errorf("%+v: got %v, want one verdict", c, verdicts)
			continue
		}
		v := verdicts[0]
		got := fmt.Sprintf("%s %s %s", v.Role, map[bool]string{true: "permits", false: "denies"}[v.Permitted], v.Rule)
		if got != c.want {
			t.Errorf("%s on %s in %q: got %q, want %q", c.uri, c.server, c.project, got, c.want)
		}
		if admits := p.Admits(p.InForce(c.rights, c.project), c.server, false, c.template, []string{c.uri}); admits != v.Permitted {
			t.Errorf("%s on %s in %q: Admits is %v, Explain says %v", c.uri, c.server, c.project, admits, v.Permitted)
		}
	}
	for name, want := range map[string]bool{"r": true, "open": true, "gone": false, "": false, "zzz": false} {
		if role, ok := p.Role(name); ok != want || ok && role.Name != name {
			t.Errorf("Role(%q): got %q, %v", name, role.Name, ok)
		}
	}
	if got := p.Roles(); !slices.Equal(got, []string{"denies", "open", "r"}) {
		t.Errorf("Roles: got %v, want them sorted", got)
	}
}

// The rules that decide about tools: servers, deny, allow, read-only, in each combination.
func TestRulesOfTools(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "r", Servers: []string{"x", "s"}, Projects: []string{"alpha"}, ReadOnly: true, ReadOnlyTools: []string{"zz", "s/w*"},
		Tools: config.Filter{Allow: []string{"q", "*a*", "w*"}, Deny: []string{"x*", "*bad"}}}}})
	for _, c := range []struct {
		project, server, public, own string
		hint, internal               bool
		want                         string
	}{
		{"alpha", "s", "a", "a", true, false, "permits readOnly"},
		{"alpha", "s", "a", "a", false, false, "denies readOnly"},
		{"alpha", "s", "w1", "w1", false, false, "permits readOnlyTools[1]"},
		{"alpha", "s", "n", "n", true, false, "denies tools.allow"},
		{"alpha", "s", "abad", "abad", true, false, "denies tools.deny[1]"},
		{"alpha", "t", "a", "a", true, false, "denies servers"},
		{"beta", "s", "a", "a", true, false, "denies projects"},
		{"", "s", "a", "a", true, false, "denies projects"},
		{"alpha", "t", "n", "n", false, true, "permits "},
		{"alpha", "t", "xn", "xn", false, true, "denies tools.deny[0]"},
	} {
		it := Item{Kind: protocol.Tools, Server: c.server, Public: c.public, Own: c.own, ReadOnly: c.hint, Internal: c.internal}
		v := p.Explain("r", c.project, &it)[0]
		if got := fmt.Sprintf("%s %s", map[bool]string{true: "permits", false: "denies"}[v.Permitted], v.Rule); got != c.want {
			t.Errorf("%+v: got %q, want %q", c, got, c.want)
		}
	}
}

// The retry delay is exact, at least a millisecond, and Reported is called at most once in any second.
func TestRateInstants(t *testing.T) {
	var b Buckets[string]
	now, limit := time.Unix(1000, 0), config.Rate{Requests: 2, Per: time.Second}
	for i, want := range []bool{true, true, false} {
		if _, ok := b.Take(now, "a", limit); ok != want {
			t.Errorf("request %d: got %v, want %v", i+1, ok, want)
		}
	}
	if after, _ := b.Take(now, "a", limit); after != 500*time.Millisecond {
		t.Errorf("retry after %v, want 500ms", after)
	}
	if after, ok := b.Take(now.Add(500*time.Millisecond-1), "a", limit); ok || after != time.Millisecond {
		t.Errorf("a nanosecond too early: got %v, %v; want 1ms, refused", after, ok)
	}
	if _, ok := b.Take(now.Add(500*time.Millisecond), "a", limit); !ok {
		t.Error("refused after the retry delay")
	}
	reports := 0
	r := Rates{Reported: func(string) { reports++ }}
	r.Use(Compile(config.Policy{Present: true, Mode: "report", Roles: []config.Role{{Name: "r", Rate: "1/h"}}}))
	who := having("key:a", "r")
	r.Allow(now, who)
	for i, at := range []time.Duration{0, time.Second - 1, time.Second, 2*time.Second - 1, 2 * time.Second} {
		r.Allow(now.Add(at), who)
		if want := []int{1, 1, 2, 2, 3}[i]; reports != want {
			t.Errorf("after %v: %d reports, want %d", at, reports, want)
		}
	}
}

// Full buckets are dropped at most once a second, and only when there is no room.
func TestDropIsLimited(t *testing.T) {
	var b Buckets[int]
	now, limit := time.Unix(1000, 0), config.Rate{Requests: 1, Per: time.Millisecond}
	for i := range maxBuckets {
		b.Take(now, i, limit)
	}
	if _, ok := b.Take(now, -1, limit); ok { // no bucket is full yet; the next scan is a second away
		t.Fatal("got a bucket beyond maxBuckets")
	}
	if _, ok := b.Take(now.Add(busy-1), -1, limit); ok {
		t.Error("full buckets were dropped within a second of the last scan")
	}
	if _, ok := b.Take(now.Add(busy), -1, limit); !ok || len(b.buckets) != 1 {
		t.Errorf("after a second: got a bucket %v, %d buckets, want 1", ok, len(b.buckets))
	}
}
