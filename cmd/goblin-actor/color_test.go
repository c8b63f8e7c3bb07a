package main

import (
	"bytes"
	"strings"
	"testing"

	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 火", "a\tb\nc é 火"},
		{"escape", "\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\x07`},
		{"eight bit escape", "\u009b31m", `\x9b31m`},
		{"carriage return", "safe\rfake", `safe\x0dfake`},
		{"line end of another system", "a\r\nb", "a\nb"},
		{"backspace and delete", "a\b\x7f", `a\x08\x7f`},
		{"turned around", "a\u202eb", `a\u202eb`},
		{"line ends that are no newline", "a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\x85d`},
		{"no UTF-8", "a\xffb", "a\ufffdb"},
		{"invisible", "ig\u200bnore\U000e0041", `ig\u200bnore\U000e0041`},
	} {
		if got := clean(c.in); got != c.want {
			t.Errorf("%s: clean(%q) = %q, want %q", c.name, c.in, got, c.want)
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
		if got := oneLine(c.in, c.limit); got != c.want {
			t.Errorf("oneLine(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

// What foreign JSON says must survive being printed, and must not steer the terminal.
func TestRawIsHarmless(t *testing.T) {
	value := []byte("{\"a\":\"\u009b31m\\u001b[0m \u202e\",\"num\":12345678901234567890.10}")
	for f, want := range map[format]string{
		formatJSON: "{\n  \"a\": \"\\u009b31m\\u001b[0m \\u202e\",\n  \"num\": 12345678901234567890.10\n}\n",
		formatYAML: "a: \"\\u009b31m\\u001b[0m \\u202e\"\nnum: 12345678901234567890.10\n",
	} {
		var b strings.Builder
		if err := f.raw(&b, value); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v, want %q", f, b.String(), err, want)
		}
	}
}

// Text that a model reads and a person cannot see is visible in a definition, in JSON and YAML, and in both log formats.
func TestInvisibleCharactersAreShown(t *testing.T) {
	const hidden, seen = "safe\u200b\U000e0069\U000e0067", `safe\u200b\U000e0069\U000e0067`
	raw := []byte(`{"name":"t` + hidden + `","title":"` + hidden + `","description":"` + hidden + `","inputSchema":{"type":"object","properties":{"` +
		hidden + `":{"type":"string","description":"` + hidden + `"}},"required":["` + hidden + `"]}}`)
	item, err := protocol.ParseItem(raw)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := printDefinition(&b, described{protocol.Tools, item}); err != nil || strings.Count(b.String(), seen) != 5 {
		t.Errorf("describe prints %q, %v", b.String(), err)
	}
	shown := []string{b.String()}
	for _, f := range []format{formatJSON, formatYAML} {
		b.Reset()
		if err := f.raw(&b, raw); err != nil {
			t.Error(err)
		}
		shown = append(shown, b.String())
	}
	for _, format := range []string{"text", "json"} {
		b.Reset()
		newLogger(config.Log{Level: "info", Format: format}, nil, &b).Warn("server is not available", "server", hidden, "reason", hidden)
		shown = append(shown, b.String())
	}
	for _, text := range shown {
		if strings.ContainsAny(text, "\u200b\U000e0069\U000e0067") || !strings.Contains(text, "safe") {
			t.Errorf("invisible characters in %q", text)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	err := table(&b, []string{"NAME", "NOTHING", "ABOUT"}, [][]string{{"a", "", "first"}, {"née", "", ""}})
	want := "NAME  ABOUT\na     first\nnée\n"
	if err != nil || b.String() != want {
		t.Errorf("table = %q, %v, want %q", b.String(), err, want)
	}
}

func TestProgressBar(t *testing.T) {
	for _, c := range []struct {
		name string
		live bool
		p    client.Progress
		want string
	}{
		{"in a pipe", false, client.Progress{Done: 1, Total: 4, Message: "on \x1b[31mit"}, "progress: 1/4 on \\x1b[31mit\n"},
		{"on a terminal", true, client.Progress{Done: 6, Total: 12}, "\r\x1b[K[############............] 6/12\r\x1b[K"},
		{"without a total", true, client.Progress{Done: 1.5}, "\r\x1b[K1.5\r\x1b[K"},
		{"beyond the total", true, client.Progress{Done: 9, Total: 3}, "\r\x1b[K[########################] 9/3\r\x1b[K"},
	} {
		var b bytes.Buffer
		bar := progressBar{w: &b, live: c.live}
		bar.show(c.p)
		bar.clear()
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}
