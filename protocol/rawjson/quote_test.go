package rawjson

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// encoding/json reads back what Quote writes, and Unquote agrees with encoding/json.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"files", "file:///logs/app.log", "Größe", "\xff\xfe", "a\\\"\n\x00b", "😀", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		quoted := Quote(name)
		var decoded string
		if err := json.Unmarshal(quoted, &decoded); err != nil || decoded != string([]rune(name)) {
			t.Fatalf("Quote(%q) = %s, decoded %q, %v", name, quoted, decoded, err)
		}
		if got, ok := Unquote(quoted); !ok || got != decoded || !json.Valid(quoted) {
			t.Fatalf("Unquote(%s) = %q, %v", quoted, got, ok)
		}
		checkUnquote(t, `"`+name+`"`)
	})
}

// checkUnquote compares Unquote with encoding/json on any valid string.
func checkUnquote(t *testing.T, raw string) {
	t.Helper()
	var want string
	if json.Unmarshal([]byte(raw), &want) != nil || !utf8.ValidString(raw) {
		_, _ = Unquote([]byte(raw)) // no panic
		return
	}
	if got, ok := Unquote([]byte(raw)); !ok || got != want {
		t.Fatalf("Unquote(%s) = %q, %v, want %q", raw, got, ok, want)
	}
}
