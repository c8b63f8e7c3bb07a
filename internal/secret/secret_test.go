package secret

import (
	"slices"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ words, want []string }{
		{[]string{"-y", "@scope/server-filesystem@2025.1.14", "/srv/notes", "image:latest"}, nil},
		{[]string{"--api-key", "abc"}, []string{"--api-key", Hidden}},
		{[]string{"--api-key", "${KEY}"}, nil},
		{[]string{"--api-key", "--other"}, nil},
		{[]string{"--name", "abc"}, nil},
		{[]string{"--token=abc", "API_KEY=abc", "--color=abc"}, []string{"--token=" + Hidden, "API_KEY=" + Hidden, "--color=abc"}},
		{[]string{"--header", "Authorization: Bearer abc"}, []string{"--header", "Authorization: " + Hidden}},
		{[]string{"-H", "Authorization: Bearer ${T}"}, nil},
		{[]string{"--header", "X:${T:-abc}"}, []string{"--header", "X:${T:-[redacted]}"}},
		{[]string{"--headers", "Authorization", "Bearer abc", "http://x/mcp"}, []string{"--headers", "Authorization", Hidden, "http://x/mcp"}},
		{[]string{"--headers", `{"X-Mine":"abc"}`}, []string{"--headers", `{"X-Mine":"[redacted]"}`}},
		{[]string{"--config", `{"apiKey":"abc","mode":"fast","n":7,"env":{"A":1},"l":["--x",null]}`},
			[]string{"--config", `{"apiKey":"[redacted]","mode":"fast","n":7,"env":{"A":"[redacted]"},"l":["--x",null]}`}},
		{[]string{"-e", "FOO=abc", "-e", "BAR", "-u", "ada:abc", "image"}, []string{"-e", "FOO=" + Hidden, "-e", "BAR", "-u", "ada:" + Hidden, "image"}},
		{[]string{"--author=ada", "--author", "ada"}, nil},
	} {
		want := c.want
		if want == nil {
			want = c.words
		}
		if got := Arguments(c.words); !slices.Equal(got, want) {
			t.Errorf("Arguments(%q)\n got %q\nwant %q", c.words, got, want)
		}
	}
}

func TestArgument(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"", ""},
		{"Server=db;User=sa;Password=a b,c;Timeout=3", "Server=db;User=sa;Password=[redacted];Timeout=3"},
		{"Authorization: Custom abc def", "Authorization: [redacted]"},
		{"Authorization: Bearer abc", "Authorization: [redacted]"},
		{`curl -H 'Authorization: Bearer abc' "https://u:p@h.example/?a=b" --api-key abc`,
			`curl -H '[redacted]' "https://redacted@h.example/?a=redacted" --api-key [redacted]`},
		{`{"apiKey": "abc", `, `{"apiKey": "[redacted]", `},
		{`{\"apiKey\": \"abc\"`, `{\"apiKey\": \"[redacted]\"`},
		{"echo Bearer abcdefgh", "echo Bearer [redacted]"},
		{"sk-live-BBBB2222", Hidden},
		{"task-management-with-a-long-name", "task-management-with-a-long-name"},
		{"ghcr.io/github/github-mcp-server@sha256:0123456789abcdef0123456789abcdef", "ghcr.io/github/github-mcp-server@sha256:0123456789abcdef0123456789abcdef"},
		{"0123456789abcdef0123456789abcdef", Hidden},
		{"123e4567-e89b-12d3-a456-426614174000", Hidden},
		{"${A}/b/${C:-d}", "${A}/b/${C:-[redacted]}"},
		{"\uE0000\uE001 x", Hidden},
	} {
		if got := Argument(c.in); got != c.want {
			t.Errorf("Argument(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://a.example/mcp", "https://a.example/mcp"},
		{"http://127.0.0.1:8730/s/files/@scope/mcp", "http://127.0.0.1:8730/s/files/@scope/mcp"},
		{"https://u:p@a.example/mcp", "https://redacted@a.example/mcp"},
		{"postgres://u:p/w?x#y@h/db", "postgres://redacted@h/db"},
		{"https://${U}@a.example?k=v&w=${W}", "https://${U}@a.example?k=redacted&w=${W}"},
		{"https://a.example/api/s/sk-live-DDDD4444/mcp", "https://a.example/api/s/redacted/mcp"},
		{"https://a.example/${TOKEN}/mcp?abc", "https://a.example/${TOKEN}/mcp?redacted"},
		{"https://a.example/#access_token=abc", "https://a.example/#access_token=redacted"},
		{"no address", "no address"},
	} {
		if got := URL(c.in); got != c.want {
			t.Errorf("URL(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// TestPlanted checks that a secret is hidden at every position of typical arguments.
func TestPlanted(t *testing.T) {
	const planted = "sk-live-Q1w2E3r4"
	for _, form := range []string{"SECRET", "--api-key=SECRET", "x SECRET y", "https://SECRET@h/", "https://h/SECRET", "https://h?SECRET", "https://h:1/a:SECRET@b",
		`{"a":["b",{"c":"SECRET"}]}`, `{"a":"{\"key\":\"SECRET\"}"}`, "A: SECRET", "key: |\n  SECRET", "password='a SECRET'", "[SECRET", "${A:-SECRET}", "${SECRET}", "$SECRET"} {
		word := strings.ReplaceAll(form, "SECRET", planted)
		for _, shown := range append(Arguments([]string{"--x", word, word}), Argument(word), Text(word), URL("http://h/"+word), Value(word), Pair("a", word)) {
			if strings.Contains(shown, "Q1w2E3r4") {
				t.Errorf("%q is shown as %q, want the secret hidden", word, shown)
			}
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add("--key\x00abc\x00{\"a\":1}")
	f.Fuzz(func(t *testing.T, line string) {
		for _, shown := range Arguments(strings.Split(line, "\x00")) {
			if strings.ContainsAny(shown, "\uE000\uE002") {
				t.Errorf("%q: a placeholder remains: %q", line, shown)
			}
		}
	})
}
