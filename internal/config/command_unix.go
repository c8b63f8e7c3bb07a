//go:build unix

package config

import (
	"os/exec"
	"syscall"
)

// inGroup gives the program a process group, which is killed whole.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
