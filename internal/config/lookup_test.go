package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/keyring"
	"goblin-actor/internal/secret"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  pass  show\tgithub ", "pass|show|github"},
		{`op read "op://My Vault/x y"`, "op|read|op://My Vault/x y"},
		{`a '' "" b`, "a|||b"},
		{`a'b c'd`, "ab cd"},
		{`"a \" \\ \n"`, `a " \ \n`},
		{`'\'`, `\`},
		{`a\ b $HOME ;rm *`, `a\|b|$HOME|;rm|*`},
		{`a "b`, "unterminated quote"},
	} {
		words, err := splitWords(c.in)
		got := strings.Join(words, "|")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("splitWords(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// FuzzSplitWords checks that splitting quoted words, joined by spaces, returns the same words.
func FuzzSplitWords(f *testing.F) {
	f.Add(`op read "op://My Vault/x y"`)
	f.Add(`a '' "\"" b`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, word := range words {
			quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q became %q, %v; want the same words", line, words, again, err)
		}
	})
}

// FuzzExpand checks that only references in the input are resolved, and that text without a dollar sign is unchanged.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"${A:-b}", "$${A}", "${file:x}${keyring:y}${command:z 'a b'}", "${env:A}$", "${", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := expand(s, sources{
			env: func(name string) (string, bool) {
				if !strings.Contains(s, name) || !isVariable(name) {
					t.Errorf("%q looks up variable %q", s, name)
				}
				return "value", true
			},
			look: func(kind, what string) (string, error) {
				if what == "" || !strings.Contains(s, "${"+kind+":"+what+"}") {
					t.Errorf("%q looks up %q of kind %s", s, kind, what)
				}
				return "value", nil
			},
		})
		if !strings.Contains(s, "$") && (e.text != s || len(e.refs) > 0) {
			t.Errorf("%q became %q, want it unchanged", s, e.text)
		}
		if e.fault == "" && len(e.missing)+len(e.failed) > 0 {
			t.Errorf("%q: missing %q, failed %q; want all resolved", s, e.missing, e.failed)
		}
	})
}

// loadText loads a configuration from a directory with other files.
func loadText(t *testing.T, text string, files map[string]string) (*Config, Report, string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "goblin.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, report := Load(path)
	return cfg, report, dir
}

func TestLookups(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix programs")
	}
	keyring.Fake()
	if err := keyring.Set("github", "ring-secret-1"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARIABLE_WORD", "variable-secret")
	cfg, report, dir := loadText(t, `
mcpServers:
  s:
    command: echo
    args: ["--x=${file:token.txt}", "${keyring:github}"]
    env: {A: "${command:/bin/sh -c 'printf %s \"$0 two\" ; echo' one}", B: "${env:VARIABLE_WORD}", C: "a ${file:token.txt} b"}
`, map[string]string{"token.txt": "file-secret-1\r\n"})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	s := cfg.Servers[0]
	if s.Fault != "" || s.Args[0] != "--x=file-secret-1" || s.Args[1] != "ring-secret-1" || s.Env["A"] != "one two" || s.Env["B"] != "variable-secret" || s.Env["C"] != "a file-secret-1 b" {
		t.Errorf("args %q, env %q, fault %q; want every reference resolved", s.Args, s.Env, s.Fault)
	}
	if !slices.Contains(cfg.Files, filepath.Join(dir, "token.txt")) {
		t.Errorf("watched files %q do not include the secret file", cfg.Files)
	}
	if want := (secret.Values{"file-secret-1", "ring-secret-1", "variable-secret"}); !slices.Equal(cfg.Secrets, want) { // "one two" is too short to hide
		t.Errorf("secrets %q, want %q", []string(cfg.Secrets), []string(want))
	}
	var b strings.Builder
	if err := Show(&b, cfg, report); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"file-secret-1", "ring-secret-1", "variable-secret", "one two"} {
		if strings.Contains(b.String(), value) {
			t.Errorf("config show prints secret %s:\n%s", value, b.String())
		}
	}
	for _, want := range []string{"${keyring:github}", "file token.txt is set", "keyring github is set", "command /bin/sh is set", "${env:VARIABLE_WORD}"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("config show does not print %q:\n%s", want, b.String())
		}
	}
	if again, report := Parse("shown", []byte(b.String()), func(string) (string, bool) { return "x", true }); again == nil {
		t.Errorf("the output of Show is not valid: %v", report.Err())
	}
}

// TestLookupsFail checks that an unresolved reference makes its server misconfigured, and is an error outside servers.
func TestLookupsFail(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix programs")
	}
	keyring.Fake()
	files := map[string]string{"empty": "\n", "large": strings.Repeat("x", maxValueBytes+10), "binary": "\xff\xfe", "open": "secret-that-is-open"}
	for _, c := range []struct{ ref, want string }{
		{"${file:none}", "file none: no such file"},
		{"${file:.}", "file .: not a regular file"},
		{"${file:empty}", "file empty: empty"},
		{"${file:large}", "file large: more than 64 KiB"},
		{"${file:binary}", "file binary: not UTF-8"},
		{"${keyring:none}", "keyring none: the keyring has no such entry"},
		{"${command:no-such-program-here}", "command no-such-program-here: no such program"},
		{"${command:/bin/sh -c 'echo hello >&2; echo password=hunter2 >&2; exit 3'}", "command /bin/sh: exit status 3: password=[redacted]"},
		{"${command:/bin/sh -c 'yes'}", "command /bin/sh: wrote more than 64 KiB"},
		{"${command:true}", "command true: empty"},
		{"${command:'a}", "unterminated quote"},
		{"${command: }", "no program given"},
	} {
		cfg, report, _ := loadText(t, fmt.Sprintf("mcpServers:\n  bad: {command: x, env: {A: %q}}\n  good: {command: x}\n", c.ref), files)
		if err := report.Err(); err != nil || !strings.Contains(cfg.Servers[0].Fault, c.want) || cfg.Servers[1].Fault != "" {
			t.Errorf("%s: %v, want the server misconfigured with %q; got %+v", c.ref, err, c.want, cfg)
		}
		if _, report, _ := loadText(t, fmt.Sprintf("log: {level: %q}\n", c.ref), files); report.Err() == nil || !strings.Contains(report.Err().Error(), c.want) {
			t.Errorf("%s outside servers: %v, want error %q", c.ref, report.Err(), c.want)
		}
	}
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("secret-that-is-open"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if cfg, _, _ := loadText(t, "mcpServers: {bad: {command: x, env: {A: '${file:"+open+"}'}}}", nil); !strings.Contains(cfg.Servers[0].Fault, "not private") {
		t.Errorf("with a file that other users can read, fault %q; want: not private", cfg.Servers[0].Fault)
	}
}

// TestCommandsRunOnce checks that a command runs once per load, and that it is killed with its children after the time
// limit.
func TestCommandsRunOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs Unix programs")
	}
	const ref = `${command:/bin/sh -c 'echo x >> runs; cat runs | wc -l'}`
	cfg, _, dir := loadText(t, fmt.Sprintf("mcpServers:\n  a: {command: x, env: {A: %q}}\n  b: {command: x, env: {A: %q}}\n", ref, ref), nil)
	if a, b := cfg.Servers[0].Env["A"], cfg.Servers[1].Env["A"]; strings.TrimSpace(a) != "1" || a != b {
		t.Errorf("got %q and %q (faults %q, %q), want 1 for both", a, b, cfg.Servers[0].Fault, cfg.Servers[1].Fault)
	}
	d := newDecoder("x", os.LookupEnv)
	d.base, d.may.deadline = dir, time.Now().Add(200*time.Millisecond)
	began := time.Now()
	_, err := d.runCommand(`/bin/sh -c 'sleep 30 & sleep 30'`)
	if took := time.Since(began); !errors.Is(err, errLookTime) || took > 20*time.Second {
		t.Errorf("runCommand returned after %v: %v; want errLookTime within 20s", took, err)
	}
}

// TestForeignFilesResolveNoReferences checks that references to files, the keyring and commands are resolved neither in
// files of other programs nor by Parse, and that AddServer runs no command.
func TestForeignFilesResolveNoReferences(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for _, ref := range []string{"${command:touch ran}", "${file:goblin.yaml}", "${keyring:x}"} {
		foreign := fmt.Sprintf(`{"mcpServers": {"s": {"command": "x", "env": {"A": %q}}}}`, ref)
		path := filepath.Join(dir, "claude_desktop_config.json")
		if err := os.WriteFile(path, []byte(foreign), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, report := Load(path)
		if said := fmt.Sprint(report.Err(), cfg); !strings.Contains(said, "not resolved in another program's file") {
			t.Errorf("%s: %s; want it not resolved", ref, said)
		}
		ours := fmt.Sprintf("mcpServers: {s: {command: x, env: {A: %q}}}", ref)
		if cfg, report := Parse("x", []byte(ours), os.LookupEnv); cfg == nil || cfg.Servers[0].Fault == "" {
			t.Errorf("%s: Parse: %v; want a misconfigured server", ref, report.Err())
		}
		if _, err := AddServer(filepath.Join(dir, "goblin.yaml"), fmt.Sprintf("publicUrl: %q\n", ref), Entry{Name: "s", Command: "x", Env: []Variable{{"A", ref}}}); err != nil {
			t.Errorf("%s: AddServer: %v", ref, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was run")
	}
}

// One line ending, LF or CRLF, is not part of a looked-up value. A carriage return without line feed is.
func TestFitRemovesOneLineEnding(t *testing.T) {
	for value, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\r": "a\r", "a\n\n": "a\n", "a\r\r\n": "a\r"} {
		if got, err := fit(value); err != nil || got != want {
			t.Errorf("%q became %q, %v; want %q", value, got, err, want)
		}
	}
}
