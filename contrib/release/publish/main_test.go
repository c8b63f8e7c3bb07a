package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

var install = flag.Bool("install", false, "install the program from a copy of the module; takes minutes of CPU time")

const (
	root    = "../../.."
	newPath = "example.com/team/goblin-actor"
)

func TestRewritesOnlyTheModulePath(t *testing.T) {
	r, err := newRewriter(root, newPath, []string{"go.mod", "actors/a.go", "internal/b.go", ".ci/run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"a.go", `import "goblin-actor/actors/kernel"`, `import "example.com/team/goblin-actor/actors/kernel"`},
		{"Makefile", "VARIABLE := goblin-actor/internal/cli.version", "VARIABLE := example.com/team/goblin-actor/internal/cli.version"},
		{"doc.md", "`goblin-actor/actors`", "`example.com/team/goblin-actor/actors`"},
		{"go.mod", "module " + r.old + "\n\ngo 1.26\n", "module example.com/team/goblin-actor\n\ngo 1.26\n"},
		{"a.go", "module goblin-actor\n", "module goblin-actor\n"},
		{"a.go", `"goblin-actor/server"`, `"goblin-actor/server"`},
		{"a.md", "cmd/goblin-actor/actors", "cmd/goblin-actor/actors"},
		{"a.md", "~/.config/goblin-actor/internal", "~/.config/goblin-actor/internal"},
		{"a.md", "@goblin-actor/internal", "@goblin-actor/internal"},
		{"a.md", "goblin-actor/internals", "goblin-actor/internals"},
		{"a.png", "\xff goblin-actor/actors", "\xff goblin-actor/actors"},
	} {
		if got := string(r.file(c.name)([]byte(c.text))); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestRefusesBadArguments(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, dir, want string }{
		{"https://example.com/x", t.TempDir(), "such as github.com/you/goblin-actor"},
		{"goblin-actor", t.TempDir(), "missing dot in first path element"},
		{newPath, full, "is not empty"},
	} {
		if err := publish(root, c.path, c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %s: %v, want %q", c.path, c.dir, err, c.want)
		}
	}
}

// The go command accepts the copy: no package imports the old path.
func TestCopyHasNoOldImports(t *testing.T) {
	dir := t.TempDir()
	if err := publish(root, newPath, dir); err != nil {
		t.Fatal(err)
	}
	r, err := newRewriter(root, newPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	deps := goCommand(t, dir, nil, "list", "-deps", "-test", "./...")
	for dep := range strings.Lines(deps) {
		if strings.HasPrefix(dep, r.old+"/") {
			t.Errorf("a package still imports %s", strings.TrimSpace(dep))
		}
	}
	if !strings.Contains(deps, newPath+"/gateway") {
		t.Error("the copy lacks package gateway")
	}
}

// The copy can be installed by its path and version, as from a public repository. A directory serves as the module proxy.
func TestInstall(t *testing.T) {
	if !*install {
		t.Skip("takes minutes of CPU time; run make publish-try")
	}
	dir, proxy, bin := t.TempDir(), t.TempDir(), t.TempDir()
	if err := publish(root, newPath, dir); err != nil {
		t.Fatal(err)
	}
	const version = "v0.1.0"
	versions := filepath.Join(proxy, newPath, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(archive, module.Version{Path: newPath, Version: version}, dir); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(goCommand(t, root, nil, "env", "GOMODCACHE"))
	goCommand(t, t.TempDir(), []string{
		"GOBIN=" + bin, "GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", "GOSUMDB=off", // the cache of this machine was verified when it was filled
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download")),
	}, "install", newPath+"/cmd/goblin-actor@"+version)
	out, err := exec.Command(filepath.Join(bin, "goblin-actor"), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("version: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
