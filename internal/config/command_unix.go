//go:build unix

package config

import (
	"os/exec"
	"syscall"
)

// runInGroup runs the program in a new process group, which is killed as a whole.
func runInGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
