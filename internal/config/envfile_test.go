package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnvFile(t *testing.T) {
	text := "\ufeff# mine\r\nA=1\r\nexport B = two words # rest\nC='$x # \"y\"'\nD=\"a\\nb\\\"\\$\\\\\"\nE=\nF=a#b\nnone\n1X=2\nG='over\ntwo lines'\nH=x\nI=\"open\n"
	vars, bad := ParseEnvFile(text)
	want := []EnvLine{{"A", "1", 2}, {"B", "two words", 3}, {"C", `$x # "y"`, 4}, {"D", "a\nb\"$\\", 5}, {"E", "", 6}, {"F", "a#b", 7},
		{"G", "over\ntwo lines", 10}, {"H", "x", 12}}
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Errorf("variables, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]int{8, 9, 13}, bad); diff != "" {
		t.Errorf("invalid lines, -want +got:\n%s", diff)
	}
	for _, value := range []string{"", "x", "a'b", `\`, "$HOME", "a\nb\r\\n\"$", "'", `"`, " ", "#"} {
		if got, bad := ParseEnvFile(RenderEnvLine("A", value)); len(bad) > 0 || len(got) != 1 || got[0].Value != value {
			t.Errorf("%q is written as %q and parsed as %+v", value, RenderEnvLine("A", value), got)
		}
	}
}

// TestEnvFiles checks that the process environment takes precedence over the root envFile, and that a server gets only
// the variables of its own entry.
func TestEnvFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENVFILE_TEST_OUTER", "outer")
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write("goblin.yaml", `envFile: [secrets.env, more.env]
mcpServers:
  a: {command: ./bin/x, cwd: sub, args: ["${ENVFILE_TEST_OUTER}", "${ENVFILE_TEST_INNER}", "${ENVFILE_TEST_NOT}"], env: {A: own}, envFile: a.env}
  b: {command: "$HOME/x", envFile: no.env}
`, 0o600)
	write("secrets.env", "ENVFILE_TEST_OUTER=hunter2\nENVFILE_TEST_INNER=first\nbroken\n", 0o644)
	write("more.env", "ENVFILE_TEST_INNER=inner\n", 0o600)
	write("a.env", "A=file\nB=${X}\n", 0o600)
	cfg, report := Load(path)
	if cfg == nil {
		t.Fatal(render(report))
	}
	a := cfg.Servers[0]
	if diff := cmp.Diff([]string{"outer", "inner", "${ENVFILE_TEST_NOT}"}, a.Args); diff != "" {
		t.Errorf("args, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"A": "own", "B": "${X}"}, a.Env); diff != "" {
		t.Errorf("env, -want +got:\n%s", diff)
	}
	if a.Base != dir || a.Cwd != filepath.Join(dir, "sub") || a.Command != "./bin/x" {
		t.Errorf("base %q, cwd %q, command %q, want the directory of the file, sub in it, and ./bin/x as written", a.Base, a.Cwd, a.Command)
	}
	if home, _ := os.UserHomeDir(); home != "" && cfg.Servers[1].Command != filepath.Join(home, "x") {
		t.Errorf("command %q, want x in the home directory", cfg.Servers[1].Command)
	}
	if !strings.Contains(cfg.Servers[1].Fault, "no.env: no such file") {
		t.Errorf("fault %q, want that no.env is missing", cfg.Servers[1].Fault)
	}
	if diff := cmp.Diff([]string{path, filepath.Join(dir, "secrets.env"), filepath.Join(dir, "more.env"), filepath.Join(dir, "a.env"), filepath.Join(dir, "no.env")}, cfg.Files); diff != "" {
		t.Errorf("files, -want +got:\n%s", diff)
	}
	said := render(report)
	for _, want := range []string{"secrets.env:3: not NAME=value", "variable ENVFILE_TEST_NOT is not set"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	if shared := strings.Contains(said, "other users can read "); shared != (runtime.GOOS != "windows") {
		t.Errorf("warned that other users can read secrets.env: %v\n%s", shared, said)
	}
	if strings.Contains(said, "hunter2") {
		t.Error("the report contains the value of a variable")
	}
}

// TestSalvage checks that the valid servers of an invalid file are returned.
func TestSalvage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	if err := os.WriteFile(path, []byte("listn: x\nmcpServers:\n  a: {command: x}\n  a.b: {commnd: x}\n  c: {command: x, args: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, report := Salvage(path)
	if cfg == nil || len(cfg.Servers) != 1 || cfg.Servers[0].Name != "a" || len(report.Faults) != 4 {
		t.Errorf("got %+v, want server a and four errors\n%s", cfg, render(report))
	}
}

// TestEditKeepsJSONComments checks that adding a server keeps // and /* */ comments in JSON.
func TestEditKeepsJSONComments(t *testing.T) {
	text := "{\n  // mine: \"a\"\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // it's\n    /* b */\n    \"b\": {\"command\": \"y\"} // last\n  },\n}\n"
	added, err := AddServer("f.json", text, Entry{Name: "c", Command: "z"})
	if err != nil {
		t.Fatal(err)
	}
	for _, comment := range []string{`// mine: "a"`, "// it's", "/* b */", "// last"} {
		if !strings.Contains(added, comment) {
			t.Errorf("comment %q was removed:\n%s", comment, added)
		}
	}
	if cfg, report := Parse("f.json", []byte(added), environ("")); cfg == nil || len(cfg.Servers) != 3 {
		t.Errorf("the result does not have three servers:\n%s\n%s", added, render(report))
	}
}
