package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/cli/command"
)

func TestConfigCommands(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"GOBLIN_CONFIG", "XDG_CONFIG_HOME", "HOME", "USERPROFILE", "GOBLIN_TEST_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("GOBLIN_TEST_SET", "hunter2")
	for name, text := range map[string]string{
		"bad.yaml":  "mcpServers:\n  files:\n    timout: 3s\n    command: npx\nlisten: 0.0.0.0:1\n",
		"good.yaml": "mcpServers:\n  files:\n    command: npx\n    env: {A: \"${GOBLIN_TEST_SET}\", B: hunter2}\n  Other: {url: \"http://127.0.0.1:1/${GOBLIN_TEST_UNSET}\"}\n",
		"evil.yaml": "\"a\\eb\": 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args    string
		code    int
		out     []string // parts of stdout
		errText string   // all of stderr
	}{
		{"config check bad.yaml", command.ExitConfig, nil, `error: bad.yaml:3:5: mcpServers.files.timout: unknown key
hint: did you mean timeout?
error: bad.yaml:5:9: listen: without auth, the gateway listens on loopback addresses only
hint: write 127.0.0.1:1; or give each client an API key (goblin-actor key new NAME):
hint: auth: {keys: keys.yaml}
hint: tls: {cert: tls.crt, key: tls.key}
`},
		{"config show bad.yaml", command.ExitConfig, nil, `error: bad.yaml:3:5: mcpServers.files.timout: unknown key
hint: did you mean timeout?
error: bad.yaml:5:9: listen: without auth, the gateway listens on loopback addresses only
hint: write 127.0.0.1:1; or give each client an API key (goblin-actor key new NAME):
hint: auth: {keys: keys.yaml}
hint: tls: {cert: tls.crt, key: tls.key}
`},
		{"config check good.yaml", command.ExitOK, []string{"good.yaml: ok, 2 servers (misconfigured: other), 2 warnings\n"}, `warning: good.yaml:5:3: mcpServers.Other: renamed to "other"
hint: names consist of lower-case letters, digits and -
warning: good.yaml:5:16: mcpServers.Other.url: variable GOBLIN_TEST_UNSET is not set; the server is misconfigured; other servers run
hint: set GOBLIN_TEST_UNSET, or write ${GOBLIN_TEST_UNSET:-default}
`},
		{"config show good.yaml", command.ExitOK, []string{"command: npx ", "# good.yaml:3\n", `A: "${GOBLIN_TEST_SET}"`, "GOBLIN_TEST_SET is set",
			"GOBLIN_TEST_UNSET is not set", `B: "[redacted]"`, "timeout: 30s ", "# default\n"}, `warning: good.yaml:5:3: mcpServers.Other: renamed to "other"
hint: names consist of lower-case letters, digits and -
warning: good.yaml:5:16: mcpServers.Other.url: variable GOBLIN_TEST_UNSET is not set; the server is misconfigured; other servers run
hint: set GOBLIN_TEST_UNSET, or write ${GOBLIN_TEST_UNSET:-default}
`},
		{"config check missing.yaml", command.ExitConfig, nil, "error: missing.yaml: no such file\nhint: correct its name, or name another file with --config or $GOBLIN_CONFIG\n"},
		{"config check", command.ExitFailed, nil, "error: no configuration found\nhint: specify a file: goblin-actor config check FILE\n"},
		{"config show", command.ExitOK, []string{`listen: ["127.0.0.1:8730"]`, "mcpServers: {}"}, "no configuration found; these are the defaults\n"},
		{"config chek", command.ExitUsage, nil, "error: unknown command \"chek\" for \"goblin-actor config\"\nhint: did you mean \"goblin-actor config check\"?\n"},
	} {
		var out, errOut bytes.Buffer
		code := cli.Run(t.Context(), strings.Fields(c.args), strings.NewReader(""), &out, &errOut)
		if code != c.code || errOut.String() != c.errText {
			t.Errorf("%s: code %d, want %d; stderr:\n%s\nwant:\n%s", c.args, code, c.code, errOut.String(), c.errText)
		}
		for _, want := range c.out {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in stdout:\n%s", c.args, want, out.String())
			}
		}
		if strings.Contains(out.String()+errOut.String(), "hunter2") || strings.Contains(errOut.String(), "\x1b") {
			t.Errorf("%s prints a secret or colors", c.args)
		}
	}
	var out, errOut bytes.Buffer
	if code := cli.Run(t.Context(), []string{"config", "check", "evil.yaml"}, strings.NewReader(""), &out, &errOut); code != command.ExitConfig ||
		strings.Contains(errOut.String(), "\x1b") {
		t.Errorf("a key with an escape character: code %d, %q", code, errOut.String())
	}
}
