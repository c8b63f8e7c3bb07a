package policy

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"

	"pgregory.net/rapid"
)

// Rights are canonical. Unknown roles are ignored, and without roles the rights are NoRoles.
func TestRights(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "ops", Admin: "act"}, {Name: "reader", Admin: "view"}, {Name: "zed", Admin: "none"}},
		Bind: []config.Binding{{Role: "ops", Keys: []string{"ops-*", "root"}}, {Role: "reader", Local: true, Keys: []string{"*"}}, {Role: "reader", Keys: []string{"ops-?"}}}})
	for _, c := range []struct {
		roles []string
		key   string
		local bool
		want  string
		admin identity.Admin
	}{
		{nil, "", false, "-", identity.AdminNone}, {nil, "", true, "reader", identity.AdminView}, {nil, "ci", false, "reader", identity.AdminView},
		{nil, "ops-1", false, "ops,reader", identity.AdminAct}, {[]string{"zed", "ops", "zed", "gone", ""}, "x", false, "ops,reader,zed", identity.AdminAct},
		{[]string{"Zed"}, "", false, "zed", identity.AdminNone}, {[]string{"gone"}, "", false, "-", identity.AdminNone}, {[]string{"ops,reader"}, "", false, "-", identity.AdminNone},
	} {
		got := p.Rights(c.roles, c.key, c.local)
		if got != c.want || p.Admin(got, c.local) != c.admin {
			t.Errorf("Rights(%q, %q, %v) = %q, admin %v; want %q, %v", c.roles, c.key, c.local, got, p.Admin(got, c.local), c.want, c.admin)
		}
	}
	if got := Compile(config.Policy{}); got != nil || got.Rights([]string{"ops"}, "x", true) != "" || got.Admin("", false) != identity.AdminAct || got.Reports() {
		t.Errorf("without a policy: got %v, want a nil policy that permits everything", got)
	}
	p.report = true
	for _, c := range []struct {
		rights string
		local  bool
		want   identity.Admin
	}{{"-", true, identity.AdminAct}, {"-", false, identity.AdminView}, {"zed", false, identity.AdminView}, {"ops", false, identity.AdminAct}} {
		if got := p.Admin(c.rights, c.local); got != c.want {
			t.Errorf("in report mode, Admin(%q, %t): got %v, want %v", c.rights, c.local, got, c.want)
		}
	}
}

// A server is visible with a role that covers it, unless the role permits nothing. Without a policy, or in report
// mode, all servers are visible.
func TestCovers(t *testing.T) {
	none := config.Filter{Deny: []string{"*"}}
	c := config.Policy{Present: true, Roles: []config.Role{{Name: "all"}, {Name: "watch", Tools: none, Prompts: none, Resources: none}, {Name: "k8s", Servers: []string{"k8s-*"}, Projects: []string{"alpha"}}}}
	p := Compile(c)
	c.Mode = "report"
	for rights, want := range map[string][2]bool{"": {}, "-": {}, "k8s": {true, false}, "all": {true, true}, "all,k8s": {true, true}, "gone": {}, "watch": {}} {
		if got := [2]bool{p.Covers(rights, "alpha", "k8s-1"), p.Covers(rights, "alpha", "files")}; got != want {
			t.Errorf("Covers(%q) of k8s-1 and files: got %v, want %v", rights, got, want)
		}
		if got := p.Covers(rights, "", "k8s-1"); got != want[1] {
			t.Errorf("Covers(%q) outside of projects: got %v", rights, got)
		}
		if !Compile(c).Covers(rights, "", "files") || !Compile(config.Policy{}).Covers(rights, "", "files") {
			t.Errorf("Covers(%q): a server is hidden without a policy or in report mode", rights)
		}
	}
}

// A policy may have more roles than a word has bits.
func TestManyRoles(t *testing.T) {
	c := config.Policy{Present: true}
	for i := range 130 {
		c.Roles = append(c.Roles, config.Role{Name: "r" + strings.Repeat("x", i), Servers: []string{"s" + strings.Repeat("x", i)}})
	}
	p := Compile(c)
	for i := range 130 {
		it := Item{Kind: protocol.Tools, Server: "s" + strings.Repeat("x", i), Public: "a", Own: "a"}
		for _, j := range []int{i, (i + 64) % 130, (i + 1) % 130} {
			if got := p.Permits(&it).Meets(p.InForce("r"+strings.Repeat("x", j), "")); got != (i == j) {
				t.Fatalf("role %d on the server of role %d: permitted %v", j, i, got)
			}
		}
	}
}

var someGlobs = rapid.SliceOfN(rapid.SampledFrom([]string{"*", "a*", "s/*", "s/a", "?", "*b", "resource://s/*", "f:///*", "*%2e*"}), 0, 3)

func drawRole(t *rapid.T, name string) config.Role {
	filter := func(kind string) config.Filter {
		return config.Filter{Allow: someGlobs.Draw(t, kind+" allow"), Deny: someGlobs.Draw(t, kind+" deny")}
	}
	return config.Role{Name: name, Tools: filter("tools"), Prompts: filter("prompts"), Resources: filter("resources"), ReadOnly: rapid.Bool().Draw(t, "readOnly"),
		ReadOnlyTools: someGlobs.Draw(t, "readOnlyTools"), Servers: rapid.SliceOfN(rapid.SampledFrom([]string{"s", "o*", "t"}), 0, 2).Draw(t, "servers"),
		Projects: rapid.SliceOfN(rapid.SampledFrom([]string{"alpha"}), 0, 1).Draw(t, "projects")}
}

// S5.2.3: Explain agrees with Permits and names an existing rule. Further roles never remove a permission.
func TestExplainAgreesWithPermits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Compile(config.Policy{Present: true, Roles: []config.Role{drawRole(rt, "a"), drawRole(rt, "b")}})
		name := rapid.SampledFrom([]string{"a", "b", "ab", "f:///x", "f:///a/../b", "f:///%2e"})
		it := Item{Kind: protocol.ItemKind(rapid.IntRange(0, protocol.ItemKinds-1).Draw(rt, "kind")), Server: rapid.SampledFrom([]string{"s", "other"}).Draw(rt, "server"),
			Public: name.Draw(rt, "public"), Own: name.Draw(rt, "own"), ReadOnly: rapid.Bool().Draw(rt, "hint"), Internal: rapid.Bool().Draw(rt, "internal")}
		project := rapid.SampledFrom([]string{"", "alpha", "beta"}).Draw(rt, "project")
		permits := p.Permits(&it)
		judged := func(rights string) bool { return permits.Meets(p.InForce(rights, project)) }
		for _, rights := range []string{"a", "b", "a,b", "-"} {
			verdicts := p.Explain(rights, project, &it)
			if Permitted(verdicts) != judged(rights) {
				rt.Fatalf("rights %s: Explain says %v, Permits says %v", rights, verdicts, judged(rights))
			}
			for _, v := range verdicts {
				if v.Rule.Index >= 0 && v.Rule.Key == "" && v.Rule.Index > 0 || !v.Permitted && v.Rule.Key == "" {
					rt.Fatalf("verdict without a rule: %+v", v)
				}
			}
		}
		if judged("a,b") != (judged("a") || judged("b")) {
			rt.Fatal("two roles together must permit exactly what either of them permits")
		}
	})
}

// Unmatched returns patterns that match nothing, but not patterns for URIs of a template.
func TestUnmatched(t *testing.T) {
	p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "r", Servers: []string{"s*", "none"}, ReadOnlyTools: []string{"s/b", "s/x"}, Tools: config.Filter{Allow: []string{"a", "s/a", "b"}, Deny: []string{"*x", "*a"}},
		Prompts: config.Filter{Deny: []string{"p"}}, Resources: config.Filter{Allow: []string{"resource://s/f:///ok/*", "resource://o/*", "resource://s/f:///r"}}}}})
	items := []Item{{Kind: protocol.Tools, Server: "s", Public: "a", Own: "a"}, {Kind: protocol.Tools, Server: "s", Public: "s_b", Own: "b"}, {Kind: protocol.Prompts, Server: "s", Public: "q", Own: "q"},
		{Kind: protocol.Resources, Server: "s", Public: "resource://s/f:///r", Own: "f:///r"}, {Kind: protocol.Templates, Server: "s", Public: "resource://s/f:///{+path}", Own: "f:///{+path}"}}
	var got []string
	for _, rule := range p.Unmatched("r", []string{"s"}, items) {
		got = append(got, rule.String())
	}
	if want := []string{"servers[1]", "tools.allow[2]", "tools.deny[0]", "readOnlyTools[1]", "prompts.deny[0]", "resources.allow[1]"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Judging arbitrary roles and items terminates, Explain agrees with Permits, and no allow matches a URI that may
// resolve to another one.
func FuzzRole(f *testing.F) {
	f.Add("a*", "*b", "srv*", "file:///ok/*", "file:///ok/../x", "files")
	f.Add("s/*", "", "", "resource://s/*", "f:///%2e%2e/%5c", "s")
	f.Fuzz(func(t *testing.T, allow, deny, server, resources, name, of string) {
		if len(allow)+len(deny)+len(server)+len(resources)+len(name)+len(of) > 2000 {
			return
		}
		p := Compile(config.Policy{Present: true, Roles: []config.Role{{Name: "r", Servers: []string{server}, Tools: config.Filter{Allow: []string{allow}, Deny: []string{deny}},
			Resources: config.Filter{Allow: []string{resources}}}}})
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			it := Item{Kind: kind, Server: of, Public: name, Own: name}
			if p.Permits(&it).Meets(p.InForce("r", "")) != Permitted(p.Explain("r", "", &it)) {
				t.Fatalf("Explain and Permits disagree about %v", it)
			}
		}
		if p.Admits(p.InForce("r", ""), of, false, "", []string{name}) && (strings.Contains(name, "/../") || strings.Contains(strings.ToLower(name), "%2e%2e/") || strings.Contains(name, "%5c")) && !strings.Contains(name, "?") {
			t.Fatalf("Admits(%q) is true", name)
		}
	})
}
