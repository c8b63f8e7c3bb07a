//go:build unix

package transport

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// processGroup is the process group whose leader the child is; its number is the child's pid.
type processGroup struct {
	pid int
}

func (g *processGroup) adopt(child *os.Process) error {
	g.pid = child.Pid
	return nil
}

func (g *processGroup) terminate() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) }
func (g *processGroup) kill()      { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }
func (g *processGroup) forget()    {}

// processExecutable reports whether path can be run.
func processExecutable(path string, _ []string) (string, bool) {
	info, err := os.Stat(path)
	return path, err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func processCutEnv(entry string) (key, value string, found bool) { return strings.Cut(entry, "=") }

func processSameEnv(a, b string) bool { return a == b }

// processSignal names the signal that ended a process, "" when none did.
func processSignal(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

// awaitReaping waits for the end of the child in a way that also frees its pid.
func (g *processGroup) awaitReaping(cmd *exec.Cmd) { _ = cmd.Wait() }
