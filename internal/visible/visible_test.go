package visible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 火", "a\tb\nc é 火"},
		{"escape sequence", "\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\x07`},
		{"C1 control", "\u009b31m", `\x9b31m`},
		{"carriage return", "safe\rfake\r\nend", "safe\\x0dfake\nend"},
		{"bidirectional controls", "a\u202eb\u2066c\u061c", `a\u202eb\u2066c\u061c`},
		{"zero width", "ig\u200bnore\u2060 \ufeffme\u00ad", `ig\u200bnore\u2060 \ufeffme\xad`},
		{"tags", "hi\U000e0041\U000e007f", `hi\U000e0041\U000e007f`},
		{"language tag", "\U000e0001", `\U000e0001`},
		{"joiner in a word", "a\u200db\u200cc", `a\u200db\u200cc`},
		{"joiner in emoji", "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 👍🏽", "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 👍🏽"},
		{"joiner after emoji", "👩\u200dx👩\u200d", `👩\u200dx👩\u200d`},
		{"non-joiner in Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"selectors as data", "😀\ufe0f\ufe01\U000e0100", `😀` + "\ufe0f" + `\ufe01\U000e0100`},
		{"selector after a letter", "a\ufe0f", `a\ufe0f`},
		{"fillers", "\u115f\u3164\uffa0\u034f", `\u115f\u3164\uffa0\u034f`},
		{"invalid UTF-8", "a\xffb\u200b", "a\ufffdb" + `\u200b`},
		{"truncated UTF-8", "a\u200b\xe2\x80", `a\u200b` + "\ufffd\ufffd"},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("%s: Text(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// Between letters, every control character beyond ASCII, format character, line or paragraph separator and tag
// character is escaped, and no visible character is.
func TestEveryFormatCharacterIsEscaped(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		invisible := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r <= 0xe007f
		got := Text("a" + string(r) + "b")
		if invisible && strings.ContainsRune(got, r) {
			t.Errorf("%U is printed as it is", r)
		}
		if !invisible && unicode.IsGraphic(r) && !Hidden(r) && got != "a"+string(r)+"b" {
			t.Errorf("%U is escaped: %q", r, got)
		}
	}
}

func TestJSONKeepsTheValue(t *testing.T) {
	in := `{"a":"` + "\u009b31m\u202e \U000e0041\u200b👩\u200d👩" + `","n":1}`
	got := JSON(in)
	if want := `{"a":"\u009b31m\u202e \udb40\udc41\u200b` + "👩\u200d👩" + `","n":1}`; got != want {
		t.Errorf("JSON = %q, want %q", got, want)
	}
	var before, after map[string]any
	if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || before["a"] != after["a"] {
		t.Errorf("%q is read as %q", before["a"], after["a"])
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"abcdef", 4, "abc…"}, {"火火火火", 4, "火火火火"}, {"abc", 0, "abc"}, {"👩\u200d👩xyz", 3, "👩…"}} {
		if got := Cut(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u200d👩\u200d👩\ufe0f\xff\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, and of that %q", s, got, again)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("Text(%q) = %q", s, got)
		}
	})
}
