//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// attributes puts the child into its own process group.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// await blocks until the child has ended. Its pid is free afterwards. The group is still signaled for up to 250 ms;
// the risk that the kernel reuses the number within that time is accepted.
func (g *group) await(cmd *exec.Cmd) { g.awaitReaping(cmd) }
