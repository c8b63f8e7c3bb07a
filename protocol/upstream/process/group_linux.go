package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: a process group of its own, and death with us. The kernel sends the signal when the thread that
// forked ends, see child.hold.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// await blocks until the child has ended but leaves it a zombie: until it is reaped its pid, which is the group's number,
// can be nobody else's, and signals to the group hit only its descendants.
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
