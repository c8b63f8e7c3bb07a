//go:build !windows

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"goblin-actor/internal/cli/terminal"
)

// shellTime limits the start of the login shell, whose files can contain anything.
const shellTime = 5 * time.Second

// pathMark precedes and follows the PATH in the shell's output, which may contain other text.
const pathMark = "goblin-actor-path"

// loginPath returns the PATH of the user's login shell. If that shell does not report it, loginPath returns the PATH of
// this process and a remark for the user.
func loginPath(ctx context.Context) (path, remark string) {
	path, err := shellPath(ctx, cmp.Or(os.Getenv("SHELL"), "/bin/sh"))
	if err == nil {
		return path, ""
	}
	return os.Getenv("PATH"), "the service gets the PATH of this shell, because the login shell did not report its own: " + terminal.OneLine(err.Error(), 200)
}

// shellPath starts a shell as at a login in a terminal, and returns its PATH. The shell gets only the few variables of
// this process that are listed below, and not its terminal.
func shellPath(ctx context.Context, shell string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, shellTime)
	defer stop()
	cmd := exec.CommandContext(ctx, shell, "-l", "-i", "-c", "echo "+pathMark+"; printenv PATH; echo "+pathMark)
	for _, name := range []string{"HOME", "USER", "LOGNAME", "SHELL", "LANG", "XDG_CONFIG_HOME", "ZDOTDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, "TERM=dumb")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal, the shell cannot stop this process
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s did not end within %s", shell, shellTime)
	}
	_, rest, ok := strings.Cut(string(out), pathMark+"\n")
	path, _, closed := strings.Cut(rest, "\n"+pathMark+"\n")
	if !ok || !closed {
		return "", errors.Join(fmt.Errorf("%s printed no PATH", shell), err)
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s printed %q as its PATH", shell, path)
}
