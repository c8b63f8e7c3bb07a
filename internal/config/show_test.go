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
	got := withoutDefaults(b.String()) // so that a new key does not change the golden file; TestKeysAreReadShownAndCompared covers new keys
	const golden = "testdata/full.show"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("Show, -want +got:\n%s", diff)
	}
	for _, secret := range []string{"hunter2", "core\n", "=core", "/home/ada/notes"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("Show prints secret %q", secret)
		}
	}
}

// withoutDefaults removes the lines of keys that have their default.
func withoutDefaults(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(shown) {
		if !strings.HasSuffix(line, "# default\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestShownStringsForLists checks that references stay unexpanded in a string that is written instead of a list.
func TestShownStringsForLists(t *testing.T) {
	cfg, report := Parse("goblin.yaml", []byte(`allowedHosts: "${HOST_OF_GATEWAY}"`), environ("HOST_OF_GATEWAY=hidden.example"))
	var b bytes.Buffer
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	if want := `allowedHosts: ["${HOST_OF_GATEWAY}"] `; !strings.Contains(b.String(), want) || strings.Contains(b.String(), "hidden.example") {
		t.Errorf("want %q in:\n%s", want, b.String())
	}
}

// TestShownTexts checks that secrets in commands and descriptions are hidden, but directories that look like secrets are not.
func TestShownTexts(t *testing.T) {
	cfg, report := Parse("goblin.yaml", []byte(`mcpServers:
  a: {command: "run --token abc", cwd: /var/folders/zz/zyxvpxvq6csfxvn1n0000000000000, description: "with sk-live-AAAA1111"}
`), environ(""))
	var b bytes.Buffer
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"command: \"run --token [redacted]\"", "cwd: /var/folders/zz/zyxvpxvq6csfxvn1n0000000000000 ", "description: \"with [redacted]\""} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// TestShownIsAConfig checks that the output of Show parses to the same values, except for hidden ones.
func TestShownIsAConfig(t *testing.T) {
	cfg, report := parseFull(t)
	var b bytes.Buffer
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	again, second := Parse("full.yaml", b.Bytes(), environ(fullEnv))
	if again == nil {
		t.Fatalf("the output of Show is not valid: %v\n%s", second.Err(), b.String())
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

func TestServersAreSafeToLog(t *testing.T) {
	cfg, _ := parseFull(t)
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "server", cfg.Servers[0])
	if !strings.Contains(b.String(), "server=files\n") {
		t.Errorf("logged %s, want only the name of the server", b.String())
	}
}

func TestQuoteIsReadBack(t *testing.T) {
	for _, s := range []string{"", "plain", "a b", "true", "No", "~", "null", "1.10", "0x10", "-y", "- a", "a: b", "a #b", "#b",
		"\n", "\t", `\`, `"`, "'", "ü", "\u2028", "\x1b", "{a}", "[a]", "a,b", "@x", "`x`", "*a", "&a", "!a", "%a", "|", ">", "?", "://", "/ //x"} {
		n := parseTree([]byte("[{k: "+quote(s)+"}]"), func(_, _ int, _, message, _ string) { t.Errorf("%q: %s", s, message) },
			func(_, _ int, _, message, _ string) { t.Errorf("%q: %s", s, message) })
		if n == nil || n.items[0].members[0].value.text != s {
			t.Errorf("quote(%q) = %s parses to another text", s, quote(s))
		}
	}
}
