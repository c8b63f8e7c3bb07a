package namespace

import (
	"strings"
	"testing"
	"time"

	"github.com/yosida95/uritemplate/v3"
	"pgregory.net/rapid"
)

func mustTemplate(t *testing.T, text string) *Template {
	t.Helper()
	tpl, err := ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func TestTemplateMatch(t *testing.T) {
	cases := []struct {
		template string
		yes, no  []string
	}{
		// S0.3.1, S0.3.2, S0.3.3
		{"mcp://database/{table}/{id}",
			[]string{"mcp://database/users/42", "mcp://database/a%20b/x:y", "mcp://database/größe/1"},
			[]string{"mcp://database/users", "mcp://database/users/42/more", "mcp://other/users/42", "xmcp://database/users/42", "mcp://database/u/4?x=1", ""}},
		{"resource://db/mcp://database/{table}/{id}", []string{"resource://db/mcp://database/users/42"}, []string{"mcp://database/users/42"}},
		// Regressions: {+path}, {?q} and values with slashes must match.
		{"file:///{+path}", []string{"file:///a/b/c.txt", "file:///", "file:///a?b#c"}, []string{"file://a"}},
		{"file:///{path*}", []string{"file:///a,b,c", "file:///a", "file:///a/b/c.txt"}, []string{"file:///a?b", "file:///a/b#c"}},
		{"docs://{repo}/{path*}/raw", []string{"docs://r/a/b/raw", "docs://r/a/raw"}, []string{"docs://r/a/b", "docs://r"}},
		{"x://{user-id}/{a b}", []string{"x://1/2"}, []string{"x://1", "x://1/2/3"}},
		{"x://s{?user-id, page}", []string{"x://s?user-id=1&page=2", "x://s"}, []string{"x://s?user_id=1"}},
		{"file://{/path*}", []string{"file:///a/b/c", "file://", "file:///a"}, []string{"file:///a?b"}},
		{"x://s{/a,b}", []string{"x://s/1/2", "x://s/1"}, []string{"x://s/1/2/3"}},
		{"x://s{?q,page}", []string{"x://s", "x://s?q=1", "x://s?page=2&q=1", "x://s?q=", "x://s?q=a/b"}, []string{"x://s?other=1", "x://s?", "x://s?q=1#f"}},
		{"x://s{?q*}", []string{"x://s?a=1&b=2", "x://s?q=1&q=2"}, []string{"x://s#a=1"}},
		{"x://s?fixed=1{&q,r}", []string{"x://s?fixed=1&r=2&q=1", "x://s?fixed=1"}, []string{"x://s?fixed=1&z=2"}},
		{"x://s{;p*}", []string{"x://s;a=1;b=2", "x://s;a", "x://s"}, []string{"x://s;a/b"}},
		{"x://s{;p,q}", []string{"x://s;q=2;p=1", "x://s;p"}, []string{"x://s;z=1"}},
		{"x://s{#frag}", []string{"x://s#a/b", "x://s"}, []string{"x://sa"}},
		{"x://s{.ext*}", []string{"x://s.tar.gz", "x://s"}, []string{"x://s/tar"}},
		{"x://{host}{:3}", nil, nil},
		{"x://{name:3}", []string{"x://abc"}, []string{"x://a/b"}},
		{"größe://{x}", []string{"größe://1", "gr%C3%B6%c3%9fe://1"}, []string{"gr%C3%B6e://1"}},
		{"x://a%2Fb/{x}", []string{"x://a%2fb/1", "x://a%2Fb/1"}, []string{"x://a/b/1"}},
		{"x://plain.txt", []string{"x://plain.txt"}, []string{"x://plainXtxt"}},
		{"{+uri}", []string{"anything://at/all"}, nil},
	}
	for _, c := range cases {
		tpl, err := ParseTemplate(c.template)
		if err != nil {
			if c.yes != nil {
				t.Errorf("ParseTemplate(%q): %v", c.template, err)
			}
			continue
		}
		for _, uri := range c.yes {
			if !tpl.Match(uri) {
				t.Errorf("%q does not match %q", c.template, uri)
			}
		}
		for _, uri := range c.no {
			if tpl.Match(uri) {
				t.Errorf("%q matches %q", c.template, uri)
			}
		}
	}
}

// S0.3.2 with underscore ids: only an id with one possible URI is expanded.
func TestTemplateMatchUnderscore(t *testing.T) {
	cases := []struct{ template, id, want string }{
		{"mcp://database/{table}/{id}", "db_mcp___database_users_42", "mcp://database/users/42"},
		{"mcp://database/{table}/{id}", "db_mcp___database_users", ""},
		{"mcp://database/{table}/{id}", "db_mcp___database_us_ers_42", ""}, // us/ers, us ers, …
		{"mcp://database/{table}/{id}", "other_mcp___database_users_42", ""},
		{"x://{a}-{b}", "db_x___1-2", "x://1-2"},
		{"x://{a}-{b}", "db_x___1-2-3", "x://1-2-3"}, // 1-2 and 3, or 1 and 2-3: the same URI
		{"x://{a}-{a}", "db_x___1-2", ""},
		{"x://{a}{b}", "db_x___12", "x://12"},
		{"x://{a}/{a}", "db_x___1_1", "x://1/1"},
		{"x://{a}/{a}", "db_x___1_2", ""},
		{"file:///{+path}", "db_file___a.txt", "file:///a.txt"},
		{"file:///{+path}", "db_file___a_b.txt", ""},
		{"x://s{?q}", "db_x___s_q_1", "x://s?q=1"},
		{"x://s{/a,b}", "db_x___s_1_2", "x://s/1/2"},
		{"x://s{;p*}", "db_x___s_p_1", "x://s;p=1"},
		{"x://s{?q,r}", "db_x___s_q_1_r_2", "x://s?q=1&r=2"},
		{"x://s{#f,g}", "db_x___s_1_2", "x://s#1,2"},
		{"x://s{a,b}", "db_x___s1_2", "x://s1,2"},
		{"git+ssh://{host}", "db_git_ssh___h", "git+ssh://h"},
		{"x://{a:3}", "db_x___abcd", ""},
		{"x://{user-id}/{b}", "db_x___1_2", "x://1/2"},
		{"x://s{?user-id}", "db_x___s_user-id_1", ""},
		{"{name}", "db_x", "x"},
	}
	for _, c := range cases {
		tpl := mustTemplate(t, c.template)
		got, ok := tpl.ExpandUnderscore("db", c.id)
		if got != c.want || ok != (c.want != "") || tpl.MatchUnderscore("db", c.id) != ok {
			t.Errorf("ExpandUnderscore(%q, %q) = %q, %v, want %q", c.template, c.id, got, ok, c.want)
		}
	}
}

// Regression: two servers may offer the same template. Nothing but its text identifies a Template.
func TestTemplatesOfTwoServers(t *testing.T) {
	const text = "db://{table}"
	a, b := mustTemplate(t, PrefixURI("a", text)), mustTemplate(t, PrefixURI("b", text))
	if !a.Match("resource://a/db://x") || a.Match("resource://b/db://x") || !b.Match("resource://b/db://x") {
		t.Error("templates of two servers are mixed up")
	}
}

func TestTemplateLiterals(t *testing.T) {
	if few, many := mustTemplate(t, "x://{+p}").Literals(), mustTemplate(t, "x://notes/{p}").Literals(); few != 4 || many != 10 {
		t.Errorf("Literals: got %d and %d, want 4 and 10", few, many)
	}
	if got := mustTemplate(t, "x://{+p}").Text(); got != "x://{+p}" {
		t.Errorf("Text: got %q", got)
	}
}

func TestTemplateBounds(t *testing.T) {
	for _, text := range []string{"{", "{}", "{a", "a}", "{!x}", "{a:0}", "a b", strings.Repeat("a", maxTemplateBytes+1),
		strings.Repeat("{a}", maxTemplateVariables+1), "{a" + strings.Repeat(",a", maxTemplateVariables) + "}"} {
		if _, err := ParseTemplate(text); err == nil {
			t.Errorf("ParseTemplate(%.20q…): no error", text)
		}
	}
	hostile := mustTemplate(t, strings.Repeat("{+a}x{/b*}{?c*}", 10)+"END")
	began := time.Now()
	if hostile.Match(strings.Repeat("x/", maxMatchedURI/2)) {
		t.Error("matches without END")
	}
	if hostile.Match(strings.Repeat("x/", maxMatchedURI)) {
		t.Error("matches more than 8 KiB")
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("a hostile template took %v", d)
	}
}

// genTemplate draws a template of all operators with values for some of its variables.
func genTemplate(t *rapid.T) (string, uritemplate.Values) {
	literal := rapid.StringMatching(`([a-zA-Z0-9/.:?=&;,#_~é水-]|%[0-9A-Fa-f]{2}){0,8}`)
	name := rapid.StringMatching(`[a-z]([a-z0-9_]|[.][a-z]){0,2}`)
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "ui://", "file:///", "git+ssh://", "x:"}).Draw(t, "scheme"))
	values := uritemplate.Values{}
	for range rapid.IntRange(0, 4).Draw(t, "expressions") {
		b.WriteString(literal.Draw(t, "literal"))
		b.WriteString("{" + rapid.SampledFrom([]string{"", "+", "#", ".", "/", ";", "?", "&"}).Draw(t, "operator"))
		for i := range rapid.IntRange(1, 3).Draw(t, "variables") {
			if i > 0 {
				b.WriteByte(',')
			}
			v := name.Draw(t, "name")
			modifier := rapid.SampledFrom([]string{"", "", "*", ":2"}).Draw(t, "modifier")
			b.WriteString(v + modifier)
			genValue(t, values, v)
		}
		b.WriteByte('}')
	}
	b.WriteString(literal.Draw(t, "literal"))
	return b.String(), values
}

func genValue(t *rapid.T, values uritemplate.Values, name string) {
	text := rapid.StringMatching(`[a-zA-Z0-9/?#&=;:, %é水😀._~!*'()-]{0,6}`)
	switch rapid.IntRange(0, 3).Draw(t, "kind of value") {
	case 1:
		values.Set(name, uritemplate.String(text.Draw(t, "value")))
	case 2:
		values.Set(name, uritemplate.List(rapid.SliceOfN(text, 1, 3).Draw(t, "list")...))
	case 3:
		pairs := rapid.IntRange(1, 2).Draw(t, "pairs") * 2
		kv := rapid.SliceOfN(text, pairs, pairs).Draw(t, "map")
		for i := 0; i < len(kv); i += 2 { // the library leaves keys as they are
			kv[i] = rapid.StringMatching(`[a-zA-Z0-9._~-]{1,4}`).Draw(t, "key")
		}
		values.Set(name, uritemplate.KV(kv...))
	}
}

// A template matches each of its expansions, and prefixing commutes with expanding (C1.1, C8).
func TestTemplateMatchesItsExpansions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, values := genTemplate(t)
		tpl, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		uri, err := uritemplate.MustNew(text).Expand(values)
		if err != nil {
			t.Skip(err) // a prefix modifier on a list
		}
		if !tpl.Match(uri) {
			t.Fatalf("%q does not match its expansion %q", text, uri)
		}
		if strings.HasPrefix(uri, "ui://") != strings.HasPrefix(text, "ui://") {
			return
		}
		public := PrefixURI("srv", text)
		expanded, err := uritemplate.MustNew(public).Expand(values)
		if err != nil || expanded != PrefixURI("srv", uri) {
			t.Fatalf("expand(%q) = %q, %v, want %q", public, expanded, err, PrefixURI("srv", uri))
		}
		if p, err := ParseTemplate(public); err != nil || !p.Match(expanded) {
			t.Fatalf("%q does not match %q: %v", public, expanded, err)
		}
	})
}

// A URI that ExpandUnderscore returns has the id and matches the template.
func TestTemplateUnderscoreRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _ := genTemplate(t)
		tpl, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		values := uritemplate.Values{}
		for _, name := range uritemplate.MustNew(text).Varnames() {
			values.Set(name, uritemplate.String(rapid.StringMatching(`[a-zA-Z0-9.~-]{1,5}`).Draw(t, name)))
		}
		uri, err := uritemplate.MustNew(text).Expand(values)
		if err != nil {
			t.Fatal(err)
		}
		id := UnderscoreID("srv", uri)
		if got, ok := tpl.ExpandUnderscore("srv", id); ok && (UnderscoreID("srv", got) != id || !tpl.Match(got)) {
			t.Fatalf("%q: id %q of %q read as %q", text, id, uri, got)
		}
	})
}
