//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes: a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await blocks until the child has ended. Its pid is free afterwards; that the kernel deals the same number again
// within the quarter of a second in which we still signal the group is the risk taken here.
func (g *group) await(cmd *exec.Cmd) { g.awaitReaping(cmd) }
