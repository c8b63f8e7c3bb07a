package filter

import (
	"regexp"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "any/thing\n", true},
		{"a*", "a", true}, {"a*c", "abbc", true}, {"a*c", "abcd", false}, {"*_delete", "x_delete", true}, {"?", "ü", true}, {"?", "", false},
		{"??", "ü", false}, {"*?", "ü", true}, {"a**b", "ab", true}, {"[a]", "[a]", true}, {"a.c", "abc", false}, {"*a*b*", "xxaxxbxx", true},
		{"file:///secret*", "file:///secret/a?b", true}, {"?", "\xff", true}, {"*\xff?", "a\xffb", true},
	} {
		if got := Glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("Glob(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
	Glob(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 5000)) // would not end if Glob backtracked to every *
}

// FuzzGlob compares Glob with the equivalent regular expression.
func FuzzGlob(f *testing.F) {
	f.Add("a*?b", "axxb")
	f.Add("*", "\n")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		pattern, s = strings.ToValidUTF8(pattern, "?"), strings.ToValidUTF8(s, "x")
		if len(pattern) > 50 {
			return
		}
		quoted := regexp.QuoteMeta(pattern)
		quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, `.*`), `\?`, `.`)
		if want := regexp.MustCompile(`(?s)\A` + quoted + `\z`).MatchString(s); Glob(pattern, s) != want {
			t.Errorf("Glob(%q, %q) = %v", pattern, s, !want)
		}
	})
}
