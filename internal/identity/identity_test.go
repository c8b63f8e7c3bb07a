package identity

import (
	"testing"
	"time"
)

// A new key with the id of an earlier key is another holder. For display both have the same id.
func TestHolders(t *testing.T) {
	first, second := &Principal{ID: "key:ci", Holder: Held("key:ci", 1)}, &Principal{ID: "key:ci", Holder: Held("key:ci", 1<<63)}
	nameless := &Principal{ID: "key:ci"}
	for i, c := range []struct {
		a, b *Principal
		same bool
	}{{first, first, true}, {first, second, false}, {first, nameless, false}, {nameless, &Principal{ID: "key:ci"}, true}, {nil, Local, true}, {nil, nameless, false}} {
		if Same(c.a, c.b) != c.same || (HolderOf(c.a) == HolderOf(c.b)) != c.same {
			t.Errorf("case %d: Same is %v, want %v and equal holders accordingly", i, Same(c.a, c.b), c.same)
		}
	}
	for holder, id := range map[string]string{
		first.Holder: "key:ci", second.Holder: "key:ci", "key:ci": "key:ci", "local": "local", "": "",
		"@0123456789abcdef": "@0123456789abcdef", "https://x.test#a@example.com": "https://x.test#a@example.com", "key:ci@0123456789ABCDEF": "key:ci@0123456789ABCDEF",
	} {
		if got := IDIn(holder); got != id {
			t.Errorf("IDIn(%q): got %q, want %q", holder, got, id)
		}
	}
}

// Alike compares the fields of a principal, but not its policy and usage.
func TestAlikeComparesEachField(t *testing.T) {
	at := time.Unix(1000, 0)
	base := Principal{ID: "key:a", Name: "a", Via: ViaKey, Rights: "r", Projects: []string{"p"}, Expires: at, Admin: AdminView, Holder: Held("key:a", 1)}
	for name, c := range map[string]struct {
		change func(*Principal)
		want   bool
	}{
		"nothing":          {func(*Principal) {}, true},
		"the same time":    {func(p *Principal) { p.Expires = at.UTC() }, true},
		"policy":           {func(p *Principal) { p.Policy = policy{} }, true},
		"usage":            {func(p *Principal) { p.Usage = new(Usage) }, true},
		"id":               {func(p *Principal) { p.ID = "key:b" }, false},
		"name":             {func(p *Principal) { p.Name = "b" }, false},
		"rights":           {func(p *Principal) { p.Rights = "s" }, false},
		"projects":         {func(p *Principal) { p.Projects = []string{"q"} }, false},
		"further project":  {func(p *Principal) { p.Projects = []string{"p", "q"} }, false},
		"no project":       {func(p *Principal) { p.Projects = []string{} }, false},
		"all projects":     {func(p *Principal) { p.Projects = nil }, false},
		"expiry":           {func(p *Principal) { p.Expires = at.Add(1) }, false},
		"no expiry":        {func(p *Principal) { p.Expires = time.Time{} }, false},
		"admin":            {func(p *Principal) { p.Admin = AdminAct }, false},
		"credential":       {func(p *Principal) { p.Holder = Held("key:a", 2) }, false},
		"without a holder": {func(p *Principal) { p.Holder = "" }, false},
	} {
		other := base
		c.change(&other)
		if got := Alike(&base, &other); got != c.want {
			t.Errorf("%s differs: Alike is %v, want %v", name, got, c.want)
		}
		if got := Alike(&other, &base); got != c.want {
			t.Errorf("%s differs: Alike is %v in the other direction, want %v", name, got, c.want)
		}
	}
	none, empty := Principal{ID: "a"}, Principal{ID: "a", Projects: []string{}}
	if Alike(&none, &empty) {
		t.Error("all projects and no project are alike")
	}
}

type policy struct{}

func (policy) Reports() bool { return false }

// May depends on the project, and Operates on the admin access and the rights.
func TestMayAndOperates(t *testing.T) {
	for _, c := range []struct {
		p       *Principal
		project string
		want    bool
	}{
		{nil, "a", true}, {nil, "", true}, {&Principal{}, "a", true}, {&Principal{}, "", true}, {&Principal{Projects: []string{}}, "", false},
		{&Principal{Projects: []string{"a"}}, "a", true}, {&Principal{Projects: []string{"a"}}, "b", false}, {&Principal{Projects: []string{"a", ""}}, "", false},
	} {
		if got := c.p.May(c.project); got != c.want {
			t.Errorf("%+v: May(%q) is %v, want %v", c.p, c.project, got, c.want)
		}
	}
	for _, c := range []struct {
		p    *Principal
		want bool
	}{
		{nil, false}, {Local, true}, {&Principal{ID: LocalID, Admin: AdminView}, false}, {&Principal{ID: "key:a", Admin: AdminAct}, false},
		{&Principal{ID: "key:a", Admin: AdminAct, Rights: "ops"}, true}, {&Principal{ID: "key:a", Admin: AdminView, Rights: "ops"}, false},
	} {
		if got := c.p.Operates(); got != c.want {
			t.Errorf("%+v: Operates is %v, want %v", c.p, got, c.want)
		}
	}
}
