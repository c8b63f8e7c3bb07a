package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts the child into its own process group, and has the kernel kill it when the forking thread ends (child.run).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await blocks until the child has ended, but leaves it a zombie. Until it is reaped, its pid, which is also the
// group's number, is not reused, so signals to the group reach only its descendants.
func (g *group) await(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			g.awaitReaping(cmd)
			return
		}
	}
}
