package config

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShow(t *testing.T) {
	cfg, report := parseFull(t)
	var b bytes.Buffer
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/full.show"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("Show, -want +got:\n%s", diff)
	}
	for _, secret := range []string{"hunter2", "core\n", "=core", "/home/ada/notes"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("Show tells %q", secret)
		}
	}
}

// What Show writes is a config with the same values, as far as nothing was hidden.
func TestShownIsAConfig(t *testing.T) {
	cfg, report := parseFull(t)
	var b bytes.Buffer
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	again, second := Parse("full.yaml", b.Bytes(), environ(fullEnv))
	if again == nil {
		t.Fatalf("%v\n%s", second.Err(), b.String())
	}
	for _, c := range []*Config{cfg, again} {
		for i := range c.Servers {
			s := &c.Servers[i]
			s.Env, s.Headers, s.Written = nil, nil, ""
			if len(s.Args) > 0 {
				s.Args = s.Args[:len(s.Args)-1]
			}
			if len(s.URLs) > 1 {
				s.URLs = s.URLs[1:]
			}
		}
	}
	if changes := Diff(cfg, again); !changes.Empty() {
		t.Errorf("Diff = %s\n%s", describe(changes), cmp.Diff(cfg, again))
	}
}

func TestHide(t *testing.T) {
	for _, c := range []struct{ before, in, want string }{
		{"", "plain", "plain"},
		{"--api-key", "abc", "[redacted]"},
		{"--api-key", "${KEY}", "${KEY}"},
		{"--api-key", "--other", "--other"},
		{"--name", "abc", "abc"},
		{"", "--token=abc", "--token=[redacted]"},
		{"", "API_KEY=abc", "API_KEY=[redacted]"},
		{"", "--color=abc", "--color=abc"},
		{"--header", "Authorization: Bearer abc", "Authorization: [redacted]"},
		{"--header", "Authorization: Bearer ${T}", "Authorization: Bearer ${T}"},
		{"--header", "X:${T:-abc}", "X:${T:-[redacted]}"},
		{"", "https://a.example/mcp", "https://a.example/mcp"},
		{"", "https://u:p@a.example/mcp", "https://redacted@a.example/mcp"},
		{"", "https://${U}@a.example?k=v&w=${W}", "https://${U}@a.example?k=redacted&w=${W}"},
	} {
		if got := hideInArgument(c.before, hideInURL(c.in)); got != c.want {
			t.Errorf("hide(%q, %q) = %q, want %q", c.before, c.in, got, c.want)
		}
	}
}

func TestServersAreSafeToLog(t *testing.T) {
	cfg, _ := parseFull(t)
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "server", cfg.Servers[0])
	if !strings.Contains(b.String(), "server=files\n") {
		t.Errorf("logged %s", b.String())
	}
}

func TestQuoteIsReadBack(t *testing.T) {
	for _, s := range []string{"", "plain", "a b", "true", "No", "~", "null", "1.10", "0x10", "-y", "- a", "a: b", "a #b", "#b",
		"\n", "\t", `\`, `"`, "'", "ü", "\u2028", "\x1b", "{a}", "[a]", "a,b", "@x", "`x`", "*a", "&a", "!a", "%a", "|", ">", "?", "://", "/ //x"} {
		n := parseTree([]byte("[{k: "+quote(s)+"}]"), func(_, _ int, _, message, _ string) { t.Errorf("%q: %s", s, message) },
			func(_, _ int, _, message, _ string) { t.Errorf("%q: %s", s, message) })
		if n == nil || n.items[0].members[0].value.text != s {
			t.Errorf("quote(%q) = %s is not read back", s, quote(s))
		}
	}
}
