package filter

import (
	"testing"

	"goblin-actor/internal/config"
)

// TestDenyFolds checks that deny ignores case and the encoding of accents, and that allow and disabled are exact.
func TestDenyFolds(t *testing.T) {
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*private*", "file:///Private/b", true}, {"Private*", "private", true}, {nfc, nfd, true}, {nfd, nfc, true}, {"CAF\u00c9*", nfd + "_x", true},
		{"stra\u00dfe", "STRASSE", true}, {"?", nfd[3:], true}, {"*private*", "file:///public", false}, {"a*c", "ABd", false}, {nfc, "cafe", false},
	} {
		if got := Denies([]string{"none", c.pattern}, c.name); got != c.want {
			t.Errorf("%q denies %q: %v", c.pattern, c.name, got)
		}
	}
	if Hides(&config.Filter{Allow: []string{"Read"}}, "Read") || !Hides(&config.Filter{Allow: []string{"Read"}}, "read") {
		t.Error("allow is not exact")
	}
	if Blocked(&config.Filter{Disabled: []string{"Read"}}, "read") {
		t.Error("disabled is not exact")
	}
	j := New(&config.Filter{Deny: []string{"*private*"}})
	for _, uri := range []string{"file:///Private/b", "file:///%50rivate/b", "file:///PRIVATE"} {
		if j.Admits("file:///{+path}", uri) || !j.Hides(uri) {
			t.Errorf("%s is not denied", uri)
		}
	}
}
