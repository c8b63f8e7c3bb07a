package terminal

import (
	"testing"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 火", "a\tb\nc é 火"},
		{"escape", "\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\x07`},
		{"eight bit escape", "\u009b31m", `\x9b31m`},
		{"carriage return", "safe\rfake", `safe\x0dfake`},
		{"line end of Windows", "a\r\nb", "a\nb"},
		{"backspace and delete", "a\b\x7f", `a\x08\x7f`},
		{"text direction override", "a\u202eb", `a\u202eb`},
		{"other line separators", "a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\x85d`},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"invisible", "ig\u200bnore\U000e0041", `ig\u200bnore\U000e0041`},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"a\n  b\tc", 0, "a b c"},
		{"abcdef", 4, "abc…"},
		{"火火火火", 4, "火火火火"},
		{"\x1b[2J", 0, `\x1b[2J`},
	} {
		if got := OneLine(c.in, c.limit); got != c.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
