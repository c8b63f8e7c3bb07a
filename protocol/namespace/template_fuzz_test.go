package namespace

import "testing"

// No template or URI makes the matcher panic. A URI that ExpandUnderscore returns matches the template and has the id.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"mcp://database/{table}/{id}", "file:///{+path}", "x://s{?q*}{&r}", "x{;p*}{#f}{.e}{/s*}", "größe{x:3}", "%41{a}", "{", "{}", "{+}", "a{b}{b}", "{a,b*,c:2}"} {
		f.Add(s, "mcp://database/users/42", "srv_mcp___database_users_42")
		f.Add(s, s, UnderscoreID("srv", s))
	}
	f.Fuzz(func(t *testing.T, text, uri, id string) {
		tpl, err := ParseTemplate(text)
		if err != nil {
			return
		}
		tpl.Match(uri)
		if n := tpl.Literals(); n < 0 || n > len(text) || tpl.Text() != text {
			t.Fatalf("%q: %d literals, text %q", text, n, tpl.Text())
		}
		if got, ok := tpl.ExpandUnderscore("srv", id); ok && (UnderscoreID("srv", got) != id || !tpl.Match(got)) {
			t.Fatalf("%q: %q read as %q", text, id, got)
		}
		if empty, err := tpl.parsed.Expand(nil); err != nil || !tpl.Match(empty) {
			t.Fatalf("%q does not match its empty expansion %q: %v", text, empty, err)
		}
	})
}
