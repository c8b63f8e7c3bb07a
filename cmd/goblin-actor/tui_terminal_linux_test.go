package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// ink matches an escape sequence that sets a color.
var ink = regexp.MustCompile(`\x1b\[(?:[0-9]+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9]+)*m`)

// With NO_COLOR, the console sends no color, even if a palette is named. Without it, the palette's colors are sent.
func TestConsoleColors(t *testing.T) {
	at := consoleGateway(t)
	for _, c := range []struct {
		environment string
		want        bool
	}{{"NO_COLOR=1", false}, {"NO_COLOR=", true}} {
		p := newPTY(t)
		p.size(100, 30)
		cmd := p.startIn(p.term, []string{c.environment}, "tui", "--connect", at, "--skin", "contrast")
		p.screen(100, 30, "servers[2] worst first", "broken", "notes")
		p.enter(":palette blind\r")
		p.screen(100, 30, map[bool]string{true: "palette blind", false: "NO_COLOR is set"}[c.want])
		p.leave(cmd)
		p.mu.Lock()
		if got := ink.FindString(p.shown.String()); (got != "") != c.want {
			t.Errorf("%s: colors %q", c.environment, got)
		}
		p.mu.Unlock()
	}
}

// A skin is applied when its file is saved. An invalid one is explained, and the colors stay.
func TestConsoleRereadsSkin(t *testing.T) {
	at := consoleGateway(t)
	path := filepath.Join(t.TempDir(), "dark.yaml")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save("title: lime\n")
	p := newPTY(t)
	p.size(100, 30)
	cmd := p.startIn(p.term, []string{"NO_COLOR="}, "tui", "--connect", at, "--skin", path)
	p.screen(100, 30, "servers[2] worst first", "broken", "notes")
	save("title: fuchia\n")
	p.screen(100, 30, `skin not changed: dark.yaml:1:8: title: got "fuchia", want a color; did you mean fuchsia?`)
	save("title: fuchsia\n")
	p.await("\x1b[95m") // the terminal's color 13
	p.screen(100, 30, "skin reloaded")
	p.leave(cmd)
}

// A console whose terminal changes its size again and again, while keys are typed, ends with the right screen.
func TestConsoleResizedWildly(t *testing.T) {
	at := consoleGateway(t)
	p := newPTY(t)
	p.size(120, 40)
	cmd := p.start(p.term, "tui", "--connect", at)
	p.screen(120, 40, "servers[2] worst first", "notes")
	rng := rand.New(rand.NewPCG(1, 2))
	keys := strings.Split("0 1 2 3 4 5 6 7 8 9 d d f ? j k N", " ")
	for i := range 30 {
		w, h := 1+rng.IntN(300), 1+rng.IntN(100)
		switch i % 4 {
		case 0:
			w, h = 20, 5
		case 2:
			w, h = 300, 100
		}
		p.size(w, h)
		p.enter(keys[rng.IntN(len(keys))])
		if i%10 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.size(100, 30)
	p.enter("\x1b[21~") // a key that does nothing
	time.Sleep(200 * time.Millisecond)
	p.enter("0:servers\r\x0c")
	p.screen(100, 30, "─ servers[2]", "notes", "broken", "? help")
	p.leave(cmd)
}

// A console that is stopped, and one whose terminal is not read, harm neither the gateway nor other consoles. Both show the present
// when they continue.
func TestSlowConsoles(t *testing.T) {
	at := consoleGateway(t)
	open := func() (*pty, *exec.Cmd) {
		p := newPTY(t)
		p.size(120, 40)
		cmd := p.start(p.term, "tui", "--connect", at, "--view", "servers")
		p.screen(120, 40, "─ servers[2]", "notes", "ready")
		return p, cmd
	}
	stopped, stoppedCmd := open()
	unread, unreadCmd := open()
	fine, fineCmd := open()
	stoppedCmd.Process.Signal(syscall.SIGSTOP)
	unread.mu.Lock() // what the console writes fills the terminal's buffer, and then the console waits
	read := sync.OnceFunc(unread.mu.Unlock)
	defer read()
	unread.enter(strings.Repeat("\x0c", 20))
	for range 5 {
		cmd := exec.Command(programPath(t), "restart", "notes", "--connect", at)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("restart: %v\n%s", err, out)
		} else if took := time.Since(began); took > gatetest.Patience/2 {
			t.Errorf("restart took %v", took)
		}
	}
	fine.enter(":logs notes\r")
	fine.screen(120, 40, "› logs", "server is ready")
	read()
	stoppedCmd.Process.Signal(syscall.SIGCONT)
	for _, p := range []*pty{stopped, unread} {
		p.enter(":logs notes\r")
		p.screen(120, 40, "› logs", "server is ready", "● live")
	}
	stopped.leave(stoppedCmd)
	unread.leave(unreadCmd)
	fine.leave(fineCmd)
}

// tmux starts a server of its own with a console in it, and returns a function that runs a tmux command there.
func tmux(t *testing.T, command ...string) func(args ...string) string {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	socket := gatetest.ShortDir(t) + "/tmux"
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(path, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run(append([]string{"new-session", "-d", "-x", "120", "-y", "40", "--", "env", "TERM=tmux-256color"}, command...)...)
	t.Cleanup(func() { _ = exec.Command(path, "-S", socket, "kill-server").Run() })
	return run
}

// In tmux, the console shows its views, follows the size of the window, requests the mouse, and leaves the shell's screen as
// it was.
func TestConsoleInTmux(t *testing.T) {
	at := consoleGateway(t)
	run := tmux(t, "sh", "-c", "echo before; "+programPath(t)+" tui --connect "+at+"; echo after; cat")
	shows := func(want ...string) {
		t.Helper()
		gatetest.WaitFor(t, "tmux to show the console", func() (bool, string) {
			screen := run("capture-pane", "-p")
			for _, text := range want {
				if !strings.Contains(screen, text) {
					return false, "no " + text + ":\n" + screen
				}
			}
			return true, ""
		})
	}
	shows("─ servers[2] worst first", "notes", "● live")
	run("resize-window", "-x", "80", "-y", "24")
	run("send-keys", "8")
	shows("─ actors[", "pool/notes", "? help")
	run("resize-window", "-x", "20", "-y", "5")
	run("resize-window", "-x", "200", "-y", "60")
	run("send-keys", "-l", ":logs")
	run("send-keys", "Enter")
	shows("─ logs[", "level ≥ info")
	if got := strings.TrimSpace(run("display-message", "-p", "#{mouse_standard_flag}#{mouse_sgr_flag}#{mouse_all_flag}")); got != "110" {
		t.Errorf("the modes of the mouse are %s", got)
	}
	run("send-keys", "q", "q")
	shows("before", "after")
}
