package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCorrected checks that command lines for another system, or in one string, are detected and corrected.
func TestCorrected(t *testing.T) {
	isProgram := func(name string) bool {
		return slices.Contains([]string{"npx", "python3", "tool", "/opt/My Tools/run"}, name)
	}
	for _, c := range []struct {
		goos    string
		written CommandLine
		want    CommandLine // the zero value = nothing is wrong
	}{
		{"linux", CommandLine{"npx -y @scope/server", nil}, CommandLine{"npx", []string{"-y", "@scope/server"}}},
		{"windows", CommandLine{"npx -y @scope/server", nil}, CommandLine{"npx", []string{"-y", "@scope/server"}}},
		{"linux", CommandLine{`tool "two words"`, []string{"more"}}, CommandLine{"tool", []string{"two words", "more"}}},
		{"linux", CommandLine{"uvx mcp-server-time", nil}, CommandLine{"uvx", []string{"mcp-server-time"}}}, // not installed, but known
		{"linux", CommandLine{"/opt/My Tools/run", nil}, CommandLine{}},
		{"linux", CommandLine{"/opt/No Tools/run", nil}, CommandLine{}}, // does not exist, but is not a command line either
		{"linux", CommandLine{`npx "open`, nil}, CommandLine{}},
		{"linux", CommandLine{"npx", []string{"-y", "x"}}, CommandLine{}},
		{"linux", CommandLine{"cmd", []string{"/c", "npx", "-y", "x"}}, CommandLine{"npx", []string{"-y", "x"}}},
		{"darwin", CommandLine{`C:\Windows\System32\cmd.exe`, []string{"/d", "/C", "npx -y x"}}, CommandLine{"npx", []string{"-y", "x"}}},
		{"linux", CommandLine{"cmd /c npx -y x", nil}, CommandLine{"npx", []string{"-y", "x"}}},
		{"linux", CommandLine{"cmd", []string{"/c", `C:\nodejs\npx.cmd`, "x"}}, CommandLine{"npx", []string{"x"}}},
		{"windows", CommandLine{"cmd", []string{"/c", "npx", "-y", "x"}}, CommandLine{}},
		{"linux", CommandLine{"cmd", []string{"run"}}, CommandLine{}}, // a program of that name
		{"linux", CommandLine{`C:\Users\x\Python\python.exe`, []string{"-m", "server"}}, CommandLine{"python3", []string{"-m", "server"}}},
		{"linux", CommandLine{"npx.cmd", []string{"x"}}, CommandLine{"npx", []string{"x"}}},
		{"windows", CommandLine{`C:\x.exe`, nil}, CommandLine{}},
	} {
		fixed, why, ok := Corrected(c.goos, c.written, isProgram)
		if ok != (c.want.Command != "") || ok != (why != "") {
			t.Errorf("%s %q: wrong = %v (%q), want %v", c.goos, c.written, ok, why, !ok)
		}
		if len(fixed.Args) == 0 {
			fixed.Args = nil
		}
		if ok {
			if diff := cmp.Diff(c.want, fixed); diff != "" {
				t.Errorf("%s %q, -want +got:\n%s", c.goos, c.written, diff)
			}
		}
	}
}

// TestOneLineCommandIsCorrected checks that the warning prints the lines to write, without secrets.
func TestOneLineCommandIsCorrected(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs executable mode bits")
	}
	dir := t.TempDir()
	for _, name := range []string{"tool", "a b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"c.json", `{"mcpServers": {"s": {"command": "./tool --token hunter2hunter2 x", "args": ["${HOME}"]}}}`,
			"write these two lines:\n\"command\": \"./tool\",\n\"args\": [\"--token\", \"[redacted]\", \"x\", \"${HOME}\"]"},
		{"c.yaml", "mcpServers:\n  s: {command: tool -y @scope/x, env: {PATH: " + dir + "}}\n", "write these two lines:\ncommand: tool\nargs: [-y, \"@scope/x\"]"},
		{"d.yaml", "mcpServers:\n  s: {command: ./a b}\n", ""},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, report := Load(path)
		got := ""
		for _, f := range report.Warnings {
			if f.Path == "mcpServers.s.command" && f.Suspect {
				got = f.Hint
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	for name, values := range map[string]struct{ is, not string }{
		"API_KEY": {"<YOUR_API_KEY>|YOUR_API_KEY|your-api-key-here|sk-xxxx|sk-...|xxxxxxxx|changeme|CHANGE_ME|{{api_key}}|[API KEY]|****|API_KEY|api_key|$API_KEY|insert your key|your key|yourApiKeyHere|TODO| |replace-with-your-key|paste_key_here",
			"sk-proj-a8Xk2|hunter2|xoxb-12-ab|9f8e7d6c|hereisone|secret|${API_KEY}"},
		"Authorization": {"Bearer <token>|Bearer YOUR_TOKEN|Bearer |Bearer sk-xxxx|Basic xxxx", "Bearer eyJhbGciOi|Basic dXNlcjpwYXNz"},
		"githubToken":   {"ghp_xxxxxxxxxxxx|ghp_your_token", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
		"BASE":          {"/path/to/files|<dir>|your-org", "|xyz|/srv/files|$HOME|todo|over there|somewhere|...|yourself"},
		"MAX_TOKENS":    {"<number>", "|4096|xxx"},
		"KEYBOARD":      {"", "|de|..."},
		"":              {"YOUR_WORKSPACE_ID|/path/to/allowed/files", "|-y|.|--your-flag|*.txt..."},
	} {
		for value := range strings.SplitSeq(values.is, "|") {
			if values.is != "" && placeholderFault(name, value) == "" {
				t.Errorf("%s=%q is not detected as a placeholder", name, value)
			}
		}
		for value := range strings.SplitSeq(values.not, "|") {
			if said := placeholderFault(name, value); said != "" {
				t.Errorf("%s=%q is real, but the result says that it %s", name, value, said)
			}
		}
	}
}
