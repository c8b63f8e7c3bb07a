package secret

import (
	"fmt"
	"strings"
	"testing"
)

// TestMove checks that secrets are moved, or the whole word if they cannot be located, that variables and their
// defaults stay, and that inserting what was moved restores the word.
func TestMove(t *testing.T) {
	const s, u = "hunter2hunter2", "0b5d7f3e-1111-2222-3333-444455556666"
	for _, c := range []struct{ name, word, shown, want string }{
		{"nothing", "--port", Argument("--port"), "--port"},
		{"flag", "--token=" + s, Argument("--token=" + s), "--token=<1>"},
		{"scheme", "Bearer " + s, Value("Bearer " + s), "Bearer <1>"},
		{"two in a url", "https://ada:" + s + "@h/p?key=" + s + "&b=", URL("https://ada:" + s + "@h/p?key=" + s + "&b="), "https://<1>@h/p?key=<2>&b="},
		{"path", "https://h/" + u + "/mcp", URL("https://h/" + u + "/mcp"), "https://h/<1>/mcp"},
		{"json", `{ "apiKey": "` + s + `" }`, Argument(`{ "apiKey": "` + s + `" }`), "<1>"},
		{"quotes", `it's "x"`, Value(`it's "x"`), "<1>"},
		{"variable", "${A}", Value("${A}"), "${A}"},
		{"variable and more", "${A}:" + s, Value("${A}:" + s), "${A}<1>"},
		{"default", "${A:-" + s + "}", Value("${A:-" + s + "}"), "${A:-" + s + "}"},
	} {
		var moved []string
		got := Move(c.word, c.shown, func(value, _ string) string {
			moved = append(moved, value)
			return fmt.Sprintf("<%d>", len(moved))
		})
		back := got
		for i, value := range moved {
			back = strings.Replace(back, fmt.Sprintf("<%d>", i+1), value, 1)
		}
		if got != c.want || back != c.word {
			t.Errorf("%s: %q, want %q; moved %q", c.name, got, c.want, moved)
		}
	}
}

// FuzzMove checks that the moved and the remaining parts form the word, and that no hidden part remains.
func FuzzMove(f *testing.F) {
	for _, seed := range []string{"--token=abcdefgh12345678", "https://a:b@h/p?q=r&s#t=u", `{"apiKey":"x"}`, "${A:-b}", "Bearer x y", "[redacted]=redacted token=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, shown := range []string{Argument(word), Value(word), URL(word), Pair("token", word)} {
			var moved []string
			got := Move(word, shown, func(value, _ string) string {
				moved = append(moved, value)
				return "\x00"
			})
			if strings.Contains(word, "\x00") {
				continue
			}
			parts := strings.Split(got, "\x00")
			back := parts[0]
			for i, part := range parts[1:] {
				back += moved[i] + part
			}
			if back != word {
				t.Errorf("%q, shown as %q: the rest %q and the moved %q do not form the word", word, shown, got, moved)
			}
		}
	})
}
