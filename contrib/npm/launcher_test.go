//go:build linux

package npm_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// program prints its arguments and standard input, and then runs the commands in $END.
const program = "#!/bin/sh\necho \"args: $*\"\ncat\neval \"$END\"\n"

// platform is the name that Node.js uses for this platform.
var platform = "linux-" + strings.ReplaceAll(runtime.GOARCH, "amd64", "x64")

// installed returns a directory node_modules with the launcher and the platform packages, as npm would install them, and
// the launcher's path. platforms maps the names of the platform packages to their versions.
func installed(t *testing.T, platforms map[string]string) (dir, launcher string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs node")
	}
	dir = filepath.Join(t.TempDir(), "node_modules")
	launcher = filepath.Join(dir, "goblin-actor/bin/goblin-actor.js")
	source, err := os.ReadFile("launcher.js")
	if err != nil {
		t.Fatal(err)
	}
	write(t, launcher, string(source))
	optional := map[string]string{"@goblin-actor/" + platform: "1.2.3", "@goblin-actor/darwin-arm64": "1.2.3"}
	manifest, err := json.Marshal(map[string]any{"version": "1.2.3", "optionalDependencies": optional})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "goblin-actor/package.json"), string(manifest))
	for name, version := range platforms {
		addPlatform(t, dir, name, version, program)
	}
	return dir, launcher
}

func addPlatform(t *testing.T, dir, name, version, program string) {
	t.Helper()
	manifest := fmt.Sprintf(`{"version":%q,"programBytes":%d}`, version, len(program))
	write(t, filepath.Join(dir, "@goblin-actor", name, "package.json"), manifest)
	write(t, filepath.Join(dir, "@goblin-actor", name, "bin/goblin-actor"), program)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestLauncherPassesThrough(t *testing.T) {
	_, launcher := installed(t, map[string]string{platform: "1.2.3"})
	for end, want := range map[string]string{"exit 0": "", "exit 7": "exit status 7", "kill -TERM $$": "signal: terminated", "kill -KILL $$": "signal: killed"} {
		cmd := exec.Command("node", launcher, "call", "a b", "--x=1")
		cmd.Env = append(os.Environ(), "END="+end)
		cmd.Stdin = strings.NewReader("input\n")
		out, err := cmd.Output()
		if string(out) != "args: call a b --x=1\ninput\n" {
			t.Errorf("%s: output %q", end, out)
		}
		if got := text(err); got != want {
			t.Errorf("%s: got %q, want %q", end, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLauncherForwardsSignals signals only the launcher, as a supervisor does. The program must get the signal.
func TestLauncherForwardsSignals(t *testing.T) {
	dir, launcher := installed(t, nil)
	addPlatform(t, dir, platform, "1.2.3",
		"#!/bin/sh\nfor s in INT HUP TERM; do trap \"echo $s; exit 3\" $s; done\necho ready\nsleep 5 >/dev/null & wait\n")
	for name, signal := range map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM} {
		cmd := exec.Command("node", launcher)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(stdout)
		if line, err := out.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", name, line, err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); string(rest) != name+"\n" || text(err) != "exit status 3" {
			t.Errorf("%s: output %q, %v", name, rest, err)
		}
	}
}

func TestLauncherNamesTheProblem(t *testing.T) {
	tests := []struct {
		name      string
		platforms map[string]string
		change    func(program string) error
		want      string
	}{
		{"omitted", nil, nil, "the package @goblin-actor/" + platform + " is not installed"},
		{"other machine", map[string]string{"darwin-arm64": "1.2.3"}, nil, "the installed program is for darwin-arm64, but this Node.js runs on " + platform},
		{"other version", map[string]string{platform: "1.2.2"}, nil, "has version 1.2.2, but goblin-actor has version 1.2.3"},
		{"no program", map[string]string{platform: "1.2.3"}, os.Remove, "is incomplete"},
		{"not executable", map[string]string{platform: "1.2.3"}, func(p string) error { return os.Chmod(p, 0o644) }, "EACCES; the file is not executable"},
		{"truncated", map[string]string{platform: "1.2.3"}, func(p string) error { return os.WriteFile(p, []byte("\x7fELF\x02\x01"), 0o755) }, "bin/goblin-actor has 6 of "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, launcher := installed(t, test.platforms)
			if test.change != nil {
				if err := test.change(filepath.Join(dir, "@goblin-actor", platform, "bin/goblin-actor")); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command("node", launcher, "version").CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if text(err) != "exit status 1" || len(lines) != 2 || !strings.HasPrefix(lines[0], "error: ") || !strings.Contains(lines[0], test.want) {
				t.Errorf("%v\n%s\nwant an error with %q and a hint", err, out, test.want)
			}
			if !strings.HasPrefix(lines[len(lines)-1], "hint: reinstall with `npm install --include=optional goblin-actor@1.2.3`") {
				t.Errorf("no hint: %s", out)
			}
		})
	}
}
