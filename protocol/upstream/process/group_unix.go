//go:build unix

package process

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// group is the process group that the child leads. Its number is the child's pid.
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

// executable returns path, and whether it is an executable file.
func executable(path string, _ []string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func cutEnv(entry string) (key, value string, found bool) { return strings.Cut(entry, "=") }

func sameEnv(a, b string) bool { return a == b }

// signalName returns the name of the signal that ended a process, or "" if none did.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// awaitReaping waits until the child has ended, and reaps it.
func (*group) awaitReaping(cmd *exec.Cmd) { _ = cmd.Wait() }
