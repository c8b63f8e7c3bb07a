//go:build unix

package process

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// group is the process group whose leader the child is; its number is the child's pid.
type group struct {
	pid int
}

func (g *group) adopt(child *os.Process) error {
	g.pid = child.Pid
	return nil
}

func (g *group) terminate() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) }
func (g *group) kill()      { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }
func (*group) forget()      {}

// executable reports whether path can be run.
func executable(path string, _ []string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func cutEnv(entry string) (key, value string, found bool) { return strings.Cut(entry, "=") }

func sameEnv(a, b string) bool { return a == b }

// signalName names the signal that ended a process, "" when none did.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// awaitReaping waits for the end of the child in a way that also frees its pid.
func (*group) awaitReaping(cmd *exec.Cmd) { _ = cmd.Wait() }
